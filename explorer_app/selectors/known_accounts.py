"""Funded accounts with publicly known keys, on a local network, for users who connect a wallet."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from cchain_app.accounts.keyring import EWOQ, are_known
from cchain_app.chain import EvmChain
from primitives.addresses import format_address
from primitives.evm import Address
from primitives.hexadecimal import checksum_address
from primitives.keys import DEV_KEYS, PLATFORM_DEV_KEYS, address_of, format_private_key

MAX_LISTED: Final = 20
"""Limit of accounts that are shown."""


class KnownAccount(NamedTuple):
    """A funded account of a local network."""

    address: Address
    key: str | None
    """Its private key, 0x…; None if it is not public."""
    is_funded: bool
    """Whether the genesis gives it coins."""

    @property
    def is_ewoq(self) -> bool:
        """Whether it is the well-known account of Avalanche's local networks."""
        return self.address == EWOQ


class PublicWallet(NamedTuple):
    """A mnemonic from which everybody can derive the private keys of the accounts."""

    mnemonic: str
    derivation_path: str
    """The path without the number of the account."""


def public_wallet(chain: EvmChain) -> PublicWallet | None:
    """Return the public mnemonic of the development accounts; None if the accounts have another one, or none."""
    local = chain.settings.local
    if not (chain.keyring and _funds_some(chain)) or not are_known(
        local.mnemonic, local.derivation_path
    ):
        return None
    return PublicWallet(local.mnemonic, local.derivation_path)


def _funds_some(chain: EvmChain) -> bool:
    """Return whether the genesis gives coins to an account of the mnemonic; that of the C-Chain does."""
    own = (address for address in chain.keyring.addresses if address != EWOQ)
    return not chain.is_of_subnet or any(address in chain.genesis.alloc for address in own)


def accounts_of(chain: EvmChain) -> Iterator[KnownAccount]:
    """Yield the accounts of NODE_MNEMONIC, then "ewoq", up to `MAX_LISTED`.

    Keys of an operator's own mnemonic are secret and are left out. A validator or follower has no such accounts; for
    it the accounts of the genesis with publicly known keys are yielded.
    """
    settings, keyring = chain.settings.local, chain.keyring
    if not keyring:
        for address, key in DEV_KEYS.items():
            if address in chain.genesis.alloc:
                yield KnownAccount(address, key, is_funded=True)
        return
    are_public = are_known(settings.mnemonic, settings.derivation_path)
    for address in keyring.addresses[:MAX_LISTED]:
        public = are_public or address == EWOQ
        own_key = f"0x{keyring.key_of(address).hex()}" if public else None
        yield KnownAccount(address, own_key, is_funded=address in chain.genesis.alloc)


def not_listed(chain: EvmChain) -> str | None:
    """Return how many accounts are not among those of `accounts_of`; None if all are."""
    more = len(chain.keyring) - MAX_LISTED
    listed = ", listed by eth_accounts" if chain.has_development_methods else ""
    return f"{more} more{listed}" if more > 0 else None


class ListedAccount(NamedTuple):
    """A line of the list of funded accounts."""

    address: str
    """With EIP-55's checksum; empty for the line about the accounts that are not listed."""
    key: str | None
    """Its private key, 0x…; None if it is not public."""
    note: str
    """The origin of the key, or a limitation of the account; empty if there is neither."""


def of_evm(chain: EvmChain) -> Iterator[ListedAccount]:
    """Yield the lines of the list of `accounts_of`, with one about the accounts that are not listed, if any.

    The genesis of a subnet's chain need not fund any of these accounts, so only those that it does are listed.
    """
    for account in accounts_of(chain):
        if chain.is_of_subnet and not account.is_funded:
            continue
        notes = (
            "" if account.key else "derived from NODE_MNEMONIC",
            "" if account.is_funded else "no coins: not in the genesis",
        )
        yield ListedAccount(
            checksum_address(account.address), account.key, "; ".join(filter(None, notes))
        )
    if not chain.is_of_subnet and (more := not_listed(chain)):
        yield ListedAccount("", None, more)


def of_platform(hrp: str) -> Iterator[tuple[str, str]]:
    """Yield the keys that have coins on the P-Chain in a local network's genesis.

    Args:
        hrp: The human-readable part of the network's addresses.
    """
    for key in PLATFORM_DEV_KEYS:
        yield format_address("P", hrp, address_of(key)), format_private_key(key)
