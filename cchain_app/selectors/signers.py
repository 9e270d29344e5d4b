"""Accounts whose keys the node has: those of the keyring in the settings, and those that the node created.

Impersonated accounts can send without a key.
"""

from collections.abc import Iterable

from cchain_app.accounts.keyring import UnknownAccount
from cchain_app.chain import EvmChain
from cchain_app.store import accounts as account_rows
from primitives.evm import Address


def key_of(chain: EvmChain, account: Address) -> bytes:
    """Return an account's private key.

    Raises:
        UnknownAccount: The node has no key; also for an account that it created under another NODE_MNEMONIC.
    """
    if account in chain.keyring:
        return chain.keyring.key_of(account)
    number = account_rows.account_numbers_of(chain.db, [account]).get(account)
    if number is None or chain.derivation.address(number) != account:
        raise UnknownAccount
    return chain.derivation.key(number)


def has_key(chain: EvmChain, account: Address) -> bool:
    """Return whether the node can sign for an account."""
    return bool(with_keys(chain, [account]))


def with_keys(chain: EvmChain, accounts: Iterable[Address]) -> set[Address]:
    """Return the accounts that the node can sign for."""
    wanted = set(accounts)
    in_keyring = {account for account in wanted if account in chain.keyring}
    others = wanted - in_keyring
    numbers = account_rows.account_numbers_of(chain.db, others) if others else {}
    return in_keyring | {
        created
        for created, number in numbers.items()
        if chain.derivation.address(number) == created
    }


def addresses(chain: EvmChain) -> tuple[Address, ...]:
    """Return the accounts whose keys the node has: the settings' first, then created ones in order of creation."""
    created = [
        account
        for number, account in account_rows.account_numbers(chain.db)
        if account not in chain.keyring and chain.derivation.address(number) == account
    ]
    return (*chain.keyring, *created)


def is_impersonated(chain: EvmChain, account: Address) -> bool:
    """Return whether an account is impersonated, so that every caller may send for it."""
    return account_rows.is_impersonated(chain.db, account)


def accounts(chain: EvmChain) -> tuple[Address, ...]:
    """Return the accounts that can send here: those with a key in this node, then the impersonated ones.

    If all accounts are impersonated, the list does not contain them.
    """
    with_key = addresses(chain)
    named = (address for address in account_rows.impersonated(chain.db) if address not in with_key)
    return (*with_key, *named)
