"""Bytes as the P-Chain's API writes them: hex, usually with the end of their sha256 (pchain.md 1.3).

Plain 0x texts of the C-Chain are in `hexadecimal`.

    EncodingError
    ├── UnknownEncoding         a name that no encoding has
    ├── UnsupportedEncoding     JSON, where there are only bytes
    ├── MissingHexPrefix        no 0x in front
    ├── InvalidHex              half a byte, or something other than digits
    ├── MissingHexChecksum      fewer than the four bytes of the checksum
    └── WrongHexChecksum        the checksum of other bytes
"""

from binascii import unhexlify
from enum import StrEnum
from typing import Self

from primitives.hashing import CHECKSUM_SIZE, checksum

PREFIX = "0x"


class EncodingError(Exception):
    """A text that stands for no bytes, or an encoding that there is not."""


class UnknownEncoding(EncodingError):
    """A name that no encoding has."""

    def __init__(self, name: str) -> None:
        super().__init__("invalid encoding")
        self.name = name


class UnsupportedEncoding(EncodingError):
    """JSON is a way to show transactions and blocks, not bytes."""

    def __init__(self) -> None:
        super().__init__("unsupported encoding in method")


class MissingHexPrefix(EncodingError):
    """Hex that does not begin with 0x."""

    def __init__(self) -> None:
        super().__init__("missing 0x prefix to hex encoding")


class InvalidHex(EncodingError):
    """No hex."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"encoding/hex: {reason}")


class MissingHexChecksum(EncodingError):
    """Too short to hold a checksum."""

    def __init__(self) -> None:
        super().__init__("input string is smaller than the checksum size")


class WrongHexChecksum(EncodingError):
    """Bytes and checksum do not belong together."""

    def __init__(self) -> None:
        super().__init__("invalid input checksum")


class Encoding(StrEnum):
    """How callers want bytes."""

    HEX = "hex"
    """With a checksum."""
    HEXC = "hexc"
    """The same."""
    HEXNC = "hexnc"
    """Without."""
    JSON = "json"
    """Not bytes but their meaning; for transactions and blocks only."""

    @classmethod
    def parse(cls, name: str) -> Self:
        """Return the encoding of this name, in any letter case.

        Raises:
            UnknownEncoding: There is none.
        """
        try:
            return cls(name.lower())
        except ValueError:
            raise UnknownEncoding(name) from None


def encode(data: bytes, encoding: Encoding = Encoding.HEX) -> str:
    """Return the text of bytes.

    Raises:
        UnsupportedEncoding: The encoding is JSON.
    """
    if encoding is Encoding.JSON:
        raise UnsupportedEncoding
    payload = data if encoding is Encoding.HEXNC else data + checksum(data)
    return PREFIX + payload.hex()


def decode(text: str, encoding: Encoding = Encoding.HEX) -> bytes:
    """Read bytes; an empty text is none of them, in every encoding.

    Raises:
        UnsupportedEncoding: The encoding is JSON.
        MissingHexPrefix: The text does not begin with 0x.
        InvalidHex: It has something else than pairs of hex digits.
        MissingHexChecksum: There are fewer than four bytes, in an encoding with a checksum.
        WrongHexChecksum: The last four bytes are not the checksum of the others.
    """
    if not text:
        return b""
    if encoding is Encoding.JSON:
        raise UnsupportedEncoding
    if not text.startswith(PREFIX):
        raise MissingHexPrefix
    payload = _unhexlify(text.removeprefix(PREFIX))
    if encoding is Encoding.HEXNC:
        return payload
    if len(payload) < CHECKSUM_SIZE:
        raise MissingHexChecksum
    data = payload[:-CHECKSUM_SIZE]
    if not payload.endswith(checksum(data)):
        raise WrongHexChecksum
    return data


def _unhexlify(digits: str) -> bytes:
    try:
        return unhexlify(digits)
    except ValueError:
        reason = "odd length hex string" if len(digits) % 2 else "invalid byte"
        raise InvalidHex(reason) from None
