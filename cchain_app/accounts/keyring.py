"""The keys that a development chain signs with: those of a mnemonic's accounts (BIP-39, BIP-32), and "ewoq".

The default mnemonic is the public one of other development tools. Its keys are listed, so nothing is derived.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Final

from typing_extensions import override

from primitives.evm import Address
from primitives.keys import DEV_KEYS, EWOQ_KEY
from primitives.reasons import ErrorWithReason
from primitives.recursion import recursion_limit_restored
from primitives.secp256k1 import address_of_private_key

MNEMONIC: Final = "test test test test test test test test test test test junk"
DERIVATION_PATH: Final = "m/44'/60'/0'/0/"
"""The number of an account is appended."""
ACCOUNTS: Final = 10
"""Default number of accounts of a mnemonic."""
EWOQ: Final = address_of_private_key(EWOQ_KEY)

_KNOWN: Final = {
    address: bytes.fromhex(key.removeprefix("0x"))
    for address, key in DEV_KEYS.items()
    if address != EWOQ
}
"""The first accounts of the default mnemonic."""


class UnknownAccount(Exception):
    """The node has no key for the account."""

    def __init__(self) -> None:
        super().__init__("unknown account")


class TooManyAccounts(Exception):
    """The node creates no further accounts, because it derives all their keys again after a restart."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"{limit} accounts were created, which is the limit")


class KeyringReason(StrEnum):
    """Why the settings give no keys."""

    # The message does not repeat the words, because they may be a secret.
    MNEMONIC = (
        "NODE_MNEMONIC is not a BIP-39 mnemonic: 12, 15, 18, 21 or 24 words of one of its lists, the last of "
        "which checks the others"
    )
    DERIVATION_PATH = (
        "NODE_DERIVATION_PATH is {path!r}; it must be a path like m/44'/60'/0'/0/, to which the account's index is "
        "appended"
    )


class KeyringError(ErrorWithReason):
    """The settings give no keys; the message contains no part of them."""


class Keyring:
    """Private keys by address, in the order in which accounts are listed. Its `repr` shows no key.

    Args:
        keys: The keys, 32 bytes each.
    """

    def __init__(self, keys: Mapping[Address, bytes]) -> None:
        self._keys = dict(keys)

    @property
    def addresses(self) -> tuple[Address, ...]:
        """The accounts."""
        return tuple(self._keys)

    def key_of(self, address: Address) -> bytes:
        """Return an account's private key.

        Raises:
            UnknownAccount: The keyring has no key for it.
        """
        try:
            return self._keys[address]
        except KeyError:
            raise UnknownAccount from None

    def __contains__(self, address: Address) -> bool:
        return address in self._keys

    def __iter__(self) -> Iterator[Address]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    @override
    def __repr__(self) -> str:
        return f"<Keyring of {len(self._keys)} accounts>"


NO_KEYS: Final = Keyring({})


class Derivation:
    """The keys of a mnemonic's accounts by their numbers; each is derived once. Its `repr` shows no key.

    Args:
        mnemonic: BIP-39 words.
        path: BIP-32 path without the account's number at its end; the trailing slash is optional.
    """

    def __init__(self, mnemonic: str, path: str) -> None:
        self._mnemonic = mnemonic
        self._path = _closed(path)
        self._seed: bytes | None = None
        """Computing it takes some milliseconds, nine tenths of the time for a key."""
        self._keys: dict[int, bytes] = {}

    def key(self, number: int) -> bytes:
        """Return the private key (32 bytes) of the account with the given number.

        Raises:
            KeyringError: The words are not a mnemonic, or no key can be derived with the path.
        """
        if number not in self._keys:
            if self._seed is None:
                self._seed = _seed_of(self._mnemonic)
            (self._keys[number],) = _keys(self._seed, (number,), self._path)
        return self._keys[number]

    def address(self, number: int) -> Address:
        """Return the address of the account with the given number. Raises the same errors as `key`."""
        return address_of_private_key(self.key(number))

    @override
    def __repr__(self) -> str:
        return "<Derivation>"


def development_keyring(mnemonic: str, count: int, path: str) -> Keyring:
    """Return the keys of a mnemonic's first accounts, then that of "ewoq", which is funded on every local network.

    Args:
        mnemonic: BIP-39 words.
        count: Number of accounts.
        path: BIP-32 path without the account's number at its end; the trailing slash is optional.

    Raises:
        KeyringError: The words are not a mnemonic, or the path is invalid.
    """
    return Keyring({**_derived(mnemonic, count, _closed(path)), EWOQ: EWOQ_KEY})


def are_known(mnemonic: str, path: str) -> bool:
    """Return whether the keys of these accounts are public, so that it is safe to show them."""
    return is_public(mnemonic) and _closed(path) == DERIVATION_PATH


def is_public(mnemonic: str) -> bool:
    """Return whether a mnemonic is the default one, from which anybody can derive keys."""
    return _normal(mnemonic) == MNEMONIC


def _derived(mnemonic: str, count: int, path: str) -> dict[Address, bytes]:
    if are_known(mnemonic, path) and count <= len(_KNOWN):
        return dict(list(_KNOWN.items())[:count])
    keys = _keys(_seed_of(mnemonic), range(count), path)
    return {address_of_private_key(key): key for key in keys}


def _seed_of(mnemonic: str) -> bytes:
    # Imported here and below because the import takes half a second.
    with recursion_limit_restored():
        from eth_account.hdaccount import seed_from_mnemonic
        from eth_utils.exceptions import ValidationError

    try:
        return seed_from_mnemonic(_normal(mnemonic), "")
    except (ValidationError, ValueError):
        raise KeyringError(KeyringReason.MNEMONIC) from None


def _keys(seed: bytes, numbers: Iterable[int], path: str) -> list[bytes]:
    with recursion_limit_restored():
        from eth_account.hdaccount import key_from_seed
        from eth_utils.exceptions import ValidationError

    try:
        return [key_from_seed(seed, f"{path}{number}") for number in numbers]
    except (ValidationError, ValueError):
        raise KeyringError(KeyringReason.DERIVATION_PATH, path=path) from None


def _closed(path: str) -> str:
    return path if path.endswith("/") else path + "/"


def _normal(mnemonic: str) -> str:
    return " ".join(mnemonic.split())
