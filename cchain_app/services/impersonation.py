"""Impersonation on a development chain: accounts that can send without their keys, and signers of given signatures.

The rules are devnet.md 4.
"""

from cchain_app.chain import EvmChain
from cchain_app.development.errors import DevelopmentError, DevelopmentReason
from cchain_app.development.overrides import MAX_SIGNATURES, ImpersonatedSignature, signers_at
from cchain_app.services.cheats import exclusively
from cchain_app.store import impersonation as rows
from chaindb.locks import Lock
from primitives.evm import Address


def impersonate(chain: EvmChain, account: Address | None) -> None:
    """Allow an account, or all accounts if it is None, to send without a key; this survives restarts."""
    with chain.db.atomic(durable=True):
        chain.db.acquire(Lock.CCHAIN_POOL)
        rows.add(chain.db, account)


def stop(chain: EvmChain, account: Address | None) -> bool:
    """Require the key of an account again, or of all accounts; return whether it was not required before."""
    with chain.db.atomic(durable=True):
        chain.db.acquire(Lock.CCHAIN_POOL)
        return rows.remove(chain.db, account)


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
        found = rows.signatures(chain.db)
        if dict(signers_at(found)).get(signature) == signer:
            return
        if len(found) >= MAX_SIGNATURES:
            raise DevelopmentError(DevelopmentReason.TOO_MANY_SIGNATURES, most=MAX_SIGNATURES)
        rows.set_signature(chain.db, ImpersonatedSignature(head.number + 1, signature, signer))
    chain.memory.conditions.reset()
    chain.memory.on_change()
