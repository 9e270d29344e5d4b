"""Accounts whose keys the node has: those of the keyring in the settings, and those that the node created."""

from collections.abc import Iterable

from cchain_app.accounts.keyring import UnknownAccount
from cchain_app.chain import EvmChain
from cchain_app.store import accounts as rows
from primitives.evm import Address


def key_of(chain: EvmChain, account: Address) -> bytes:
    """Return an account's private key.

    Raises:
        UnknownAccount: The node has no key; also for an account that it created under another NODE_MNEMONIC.
    """
    if account in chain.keyring:
        return chain.keyring.key_of(account)
    number = rows.numbers_of(chain.db, [account]).get(account)
    if number is None or chain.derivation.address(number) != account:
        raise UnknownAccount
    return chain.derivation.key(number)


def has_key(chain: EvmChain, account: Address) -> bool:
    """Return whether the node can sign for an account."""
    return bool(with_keys(chain, [account]))


def with_keys(chain: EvmChain, accounts: Iterable[Address]) -> set[Address]:
    """Return the accounts that the node can sign for."""
    wanted = set(accounts)
    given = {account for account in wanted if account in chain.keyring}
    others = wanted - given
    made = rows.numbers_of(chain.db, others) if others else {}
    return given | {one for one, number in made.items() if chain.derivation.address(number) == one}


def addresses(chain: EvmChain) -> tuple[Address, ...]:
    """Return the accounts whose keys the node has: the settings' first, then created ones in order of creation."""
    made = [
        account
        for number, account in rows.numbers(chain.db)
        if account not in chain.keyring and chain.derivation.address(number) == account
    ]
    return (*chain.keyring, *made)
