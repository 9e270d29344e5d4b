"""Bytes as text in the APIs of P-Chain and X-Chain: hex, usually with the end of their sha256 (pchain.md 1.3).

The plain 0x-prefixed hex of the C-Chain is in `hexadecimal`.
"""

from binascii import unhexlify
from collections.abc import Iterable
from enum import StrEnum
from typing import Self

from primitives.hashing import CHECKSUM_SIZE, checksum
from primitives.reasons import ErrorWithReason

PREFIX = "0x"


class EncodingReason(StrEnum):
    """Why a text cannot be decoded, or an encoding is not possible."""

    UNKNOWN_ENCODING = "invalid encoding"
    # JSON is an encoding of transactions and blocks, not of bytes.
    UNSUPPORTED_ENCODING = "unsupported encoding in method"
    MISSING_HEX_PREFIX = "missing 0x prefix to hex encoding"
    INVALID_HEX = "encoding/hex: {cause}"
    MISSING_HEX_CHECKSUM = "input string is smaller than the checksum size"
    WRONG_HEX_CHECKSUM = "invalid input checksum"


class EncodingError(ErrorWithReason):
    """A text that cannot be decoded, or an unknown encoding."""


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
            EncodingError: No encoding has this name.
        """
        try:
            return cls(name.lower())
        except ValueError:
            raise EncodingError(EncodingReason.UNKNOWN_ENCODING) from None


def encode(data: bytes, encoding: TextEncoding = TextEncoding.HEX) -> str:
    """Return the text form of bytes.

    Raises:
        EncodingError: The encoding is JSON.
    """
    if encoding is TextEncoding.JSON:
        raise EncodingError(EncodingReason.UNSUPPORTED_ENCODING)
    payload = data if encoding is TextEncoding.HEXNC else data + checksum(data)
    return PREFIX + payload.hex()


def encode_each(items: Iterable[bytes], encoding: TextEncoding = TextEncoding.HEX) -> list[str]:
    """Return the text form of each of many bytes. Raises as `encode`."""
    if encoding is TextEncoding.JSON:
        raise EncodingError(EncodingReason.UNSUPPORTED_ENCODING)
    if encoding is TextEncoding.HEXNC:
        return [PREFIX + item.hex() for item in items]
    return [PREFIX + (item + checksum(item)).hex() for item in items]


def decode(text: str, encoding: TextEncoding = TextEncoding.HEX) -> bytes:
    """Decode bytes. An empty text is no bytes, in every encoding.

    Raises:
        EncodingError: The encoding is JSON; the text does not begin with 0x; the text is not pairs
            of hex digits; there are fewer than four bytes, in an encoding with a checksum; or the
            last four bytes are not the checksum of the others.
    """
    if not text:
        return b""
    if encoding is TextEncoding.JSON:
        raise EncodingError(EncodingReason.UNSUPPORTED_ENCODING)
    if not text.startswith(PREFIX):
        raise EncodingError(EncodingReason.MISSING_HEX_PREFIX)
    payload = _unhexlify(text.removeprefix(PREFIX))
    if encoding is TextEncoding.HEXNC:
        return payload
    if len(payload) < CHECKSUM_SIZE:
        raise EncodingError(EncodingReason.MISSING_HEX_CHECKSUM)
    data = payload[:-CHECKSUM_SIZE]
    if not payload.endswith(checksum(data)):
        raise EncodingError(EncodingReason.WRONG_HEX_CHECKSUM)
    return data


def _unhexlify(digits: str) -> bytes:
    try:
        return unhexlify(digits)
    except ValueError:
        reason = "odd length hex string" if len(digits) % 2 else "invalid byte"
        raise EncodingError(EncodingReason.INVALID_HEX, cause=reason) from None
