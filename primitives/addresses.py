"""Addresses of the P-Chain as text: a chain, `-`, and bech32 with the network's prefix (pchain.md 1.5).

Which chain an alias means and whether a prefix is this network's is for the caller to say.

    AddressError
    ├── MissingSeparator        no `-`
    ├── InvalidBech32           what follows it is no bech32
    └── WrongAddressLength      it is, of more or fewer than 20 bytes
"""

from functools import lru_cache
from typing import NamedTuple

from bech32 import CHARSET, bech32_decode, bech32_encode, convertbits

from primitives.ids import ShortID

SEPARATOR = "-"
MIN_LENGTH = 8
MAX_LENGTH = 90
"""Beyond it the checksum says little (BIP-173)."""


class AddressError(Exception):
    """A text that is no address."""


class MissingSeparator(AddressError):
    """No chain in front."""

    def __init__(self) -> None:
        super().__init__("no separator found in address")


class InvalidBech32(AddressError):
    """No bech32."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class WrongAddressLength(AddressError):
    """The bech32 of something else."""

    def __init__(self, got: int) -> None:
        super().__init__(f"invalid hash length: expected {ShortID.SIZE} bytes but got {got}")
        self.got = got


class ParsedAddress(NamedTuple):
    """The parts of an address."""

    chain: str
    """An alias or a blockchain ID, as it was written."""
    hrp: str
    """The human-readable part, in lower case."""
    short_id: ShortID


@lru_cache(maxsize=2**14)  # the library takes its time, and lists name the same owners again
def format_address(chain_alias: str, hrp: str, short_id: ShortID) -> str:
    """Return the address of a key on a chain."""
    groups = convertbits(short_id, 8, 5)
    assert groups is not None, "bytes have 8 bits"
    return f"{chain_alias}{SEPARATOR}{bech32_encode(hrp, groups)}"


def parse_address(text: str) -> ParsedAddress:
    """Read an address, of any chain and with any prefix.

    Raises:
        MissingSeparator: There is no chain in front.
        InvalidBech32: Length, letters or checksum are wrong.
        WrongAddressLength: It does not hold 20 bytes.
    """
    chain, separator, encoded = text.partition(SEPARATOR)
    if not separator:
        raise MissingSeparator
    hrp, data = _parse_bech32(encoded)
    if len(data) != ShortID.SIZE:
        raise WrongAddressLength(len(data))
    return ParsedAddress(chain, hrp, ShortID(data))


def _parse_bech32(text: str) -> tuple[str, bytes]:
    # the library has no upper limit
    if not MIN_LENGTH <= len(text) <= MAX_LENGTH:
        raise InvalidBech32(f"invalid bech32 string length {len(text)}")
    hrp, groups = bech32_decode(text)
    if hrp is None or groups is None:
        raise InvalidBech32(_reason(text))
    data = convertbits(groups, 5, 8, pad=False)
    if data is None:
        raise InvalidBech32("invalid incomplete group")
    return hrp, bytes(data)


def _reason(text: str) -> str:
    """Return why the library refuses a text, which it does not say."""
    if text not in {text.lower(), text.upper()}:
        return "string not all lowercase or all uppercase"
    for character in text:
        if not "!" <= character <= "~":
            return f"invalid character in string: {character!r}"
    separator = text.rfind("1")
    if separator < 1 or separator + 7 > len(text):
        return f"invalid separator index {separator}"
    for character in text[separator + 1 :].lower():
        if character not in CHARSET:
            return f"invalid character not part of charset: {character!r}"
    return "invalid checksum"
