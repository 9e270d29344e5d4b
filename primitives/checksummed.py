"""Bytes as text in the P-Chain's API: hex, usually with the end of their sha256 (pchain.md 1.3).

The plain 0x-prefixed hex of the C-Chain is in `hexadecimal`.

    EncodingError
    ├── UnknownEncoding         no encoding has this name
    ├── UnsupportedEncoding     JSON, which bytes alone do not have
    ├── MissingHexPrefix        no 0x in front
    ├── InvalidHex              an odd number of digits, or other characters than digits
    ├── MissingHexChecksum      fewer than the four bytes of the checksum
    └── WrongHexChecksum        the checksum does not match the bytes
"""

from binascii import unhexlify
from enum import StrEnum
from typing import Self

from primitives.hashing import CHECKSUM_SIZE, checksum

PREFIX = "0x"


class EncodingError(Exception):
    """A text that cannot be decoded, or an unknown encoding."""


class UnknownEncoding(EncodingError):
    """No encoding has this name."""

    def __init__(self, name: str) -> None:
        super().__init__("invalid encoding")
        self.name = name


class UnsupportedEncoding(EncodingError):
    """JSON is an encoding of transactions and blocks, not of bytes."""

    def __init__(self) -> None:
        super().__init__("unsupported encoding in method")


class MissingHexPrefix(EncodingError):
    """The hex does not begin with 0x."""

    def __init__(self) -> None:
        super().__init__("missing 0x prefix to hex encoding")


class InvalidHex(EncodingError):
    """The text is not hex."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"encoding/hex: {reason}")


class MissingHexChecksum(EncodingError):
    """The text is too short for a checksum."""

    def __init__(self) -> None:
        super().__init__("input string is smaller than the checksum size")


class WrongHexChecksum(EncodingError):
    """The checksum does not match the bytes."""

    def __init__(self) -> None:
        super().__init__("invalid input checksum")


class TextEncoding(StrEnum):
    """How a caller wants bytes to be encoded."""

    HEX = "hex"
    """Hex with a checksum."""
    HEXC = "hexc"
    """The same as `HEX`."""
    HEXNC = "hexnc"
    """Hex without a checksum."""
    JSON = "json"
    """The decoded content instead of bytes; only for transactions and blocks."""

    @classmethod
    def parse(cls, name: str) -> Self:
        """Return the encoding of this name, in any letter case.

        Raises:
            UnknownEncoding: No encoding has this name.
        """
        try:
            return cls(name.lower())
        except ValueError:
            raise UnknownEncoding(name) from None


def encode(data: bytes, encoding: TextEncoding = TextEncoding.HEX) -> str:
    """Return the text form of bytes.

    Raises:
        UnsupportedEncoding: The encoding is JSON.
    """
    if encoding is TextEncoding.JSON:
        raise UnsupportedEncoding
    payload = data if encoding is TextEncoding.HEXNC else data + checksum(data)
    return PREFIX + payload.hex()


def decode(text: str, encoding: TextEncoding = TextEncoding.HEX) -> bytes:
    """Decode bytes. An empty text is no bytes, in every encoding.

    Raises:
        UnsupportedEncoding: The encoding is JSON.
        MissingHexPrefix: The text does not begin with 0x.
        InvalidHex: The text is not pairs of hex digits.
        MissingHexChecksum: There are fewer than four bytes, in an encoding with a checksum.
        WrongHexChecksum: The last four bytes are not the checksum of the others.
    """
    if not text:
        return b""
    if encoding is TextEncoding.JSON:
        raise UnsupportedEncoding
    if not text.startswith(PREFIX):
        raise MissingHexPrefix
    payload = _unhexlify(text.removeprefix(PREFIX))
    if encoding is TextEncoding.HEXNC:
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
