"""Accounts of a development chain (devnet.md 4): creates those that the node signs for, and impersonates others.

An impersonated account sends without its key; an impersonated signature has a given signer.
"""

from typing import Final

from cchain_app.accounts.keyring import TooManyAccounts
from cchain_app.chain import EvmChain
from cchain_app.development.errors import DevelopmentError, DevelopmentReason
from cchain_app.development.overrides import MAX_SIGNATURES, SignatureOverride, signers_at
from cchain_app.services.cheats import exclusively
from cchain_app.store import accounts as account_rows
from chaindb.locks import Lock
from primitives.evm import Address

MAX_ACCOUNTS: Final = 1000
"""Each process that lists the accounts derives all keys again, which takes a third of a millisecond each."""


def create(chain: EvmChain) -> Address:
    """Add the mnemonic's next account to those that the node signs for, and return it; it survives restarts.

    Its number is at least NODE_ACCOUNTS and was not used before.

    Raises:
        TooManyAccounts: The limit is reached.
    """
    least = chain.settings.local.accounts
    # Deriving imports slow modules. Do that before acquiring the lock.
    chain.derivation.key(account_rows.next_account_number(chain.db, least))
    with chain.db.atomic(durable=True):
        chain.db.acquire(Lock.CCHAIN_POOL)
        if account_rows.count_created(chain.db) >= MAX_ACCOUNTS:
            raise TooManyAccounts(MAX_ACCOUNTS)
        number = account_rows.next_account_number(chain.db, least)
        address = chain.derivation.address(number)
        account_rows.add_created(chain.db, number, address)
    return address


def impersonate(chain: EvmChain, account: Address | None) -> None:
    """Allow an account, or all accounts if it is None, to send without a key; this survives restarts."""
    with chain.db.atomic(durable=True):
        chain.db.acquire(Lock.CCHAIN_POOL)
        account_rows.add_impersonated(chain.db, account)


def stop_impersonating(chain: EvmChain, account: Address | None) -> bool:
    """Require the key of an account again, or of all accounts; return whether it was not required before."""
    with chain.db.atomic(durable=True):
        chain.db.acquire(Lock.CCHAIN_POOL)
        return account_rows.remove_impersonated(chain.db, account)


def impersonate_signature(chain: EvmChain, signature: bytes, signer: Address) -> None:
    """Make ecrecover return an account for a signature of any message, in calls immediately and from the next block on.

    Unspecified: it applies to calls at all heights, but not to blocks that exist already. It survives rewinds
    and ends with `snapshots.reset`. The recovered signers of transactions and authorizations (EIP-7702) do not
    change.

    Args:
        chain: The chain.
        signature: r, s and v as passed to ecrecover, 65 bytes; v is the last byte of its word.
        signer: The account.

    Raises:
        DevelopmentError: Other nodes follow the chain.
        DevelopmentError: The limit is reached.
    """
    with exclusively(chain) as head:
        signatures = account_rows.signatures(chain.db)
        if dict(signers_at(signatures)).get(signature) == signer:
            return
        if len(signatures) >= MAX_SIGNATURES:
            raise DevelopmentError(DevelopmentReason.TOO_MANY_SIGNATURES, most=MAX_SIGNATURES)
        account_rows.set_signature(chain.db, SignatureOverride(head.number + 1, signature, signer))
    chain.memory.conditions.reset()
