"""Addresses of the P-Chain as text: a chain, `-`, and bech32 with the network's prefix (pchain.md 1.5).

Which chain an alias means and whether a prefix is this network's is for the caller to say.

    AddressError
    ├── MissingSeparator        no `-`
    ├── InvalidBech32           what follows it is no bech32
    └── WrongAddressLength      it is, of more or fewer than 20 bytes
"""

from functools import lru_cache
from typing import NamedTuple

from primitives import bech32
from primitives.ids import ShortID

SEPARATOR = "-"


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


@lru_cache(maxsize=2**14)  # a checksum takes its time, and lists name the same owners again
def format_address(chain_alias: str, hrp: str, short_id: ShortID) -> str:
    """Return the address of a key on a chain."""
    return f"{chain_alias}{SEPARATOR}{bech32.encode(hrp, short_id)}"


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
    try:
        hrp, data = bech32.decode(encoded)
    except bech32.Bech32Error as error:
        raise InvalidBech32(str(error)) from None
    if len(data) != ShortID.SIZE:
        raise WrongAddressLength(len(data))
    return ParsedAddress(chain, hrp, ShortID(data))
