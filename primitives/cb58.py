"""cb58: base58 of bytes and the last four bytes of their sha256 (pchain.md 1.2).

Base58 takes quadratic time, so the length is checked before anything is computed.
"""

from collections.abc import Iterable
from enum import StrEnum
from itertools import takewhile

from primitives.hashing import CHECKSUM_SIZE, checksum
from primitives.reasons import ErrorWithReason

ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

MAX_SIZE = 2048
"""Maximum bytes in a text of unknown size. Values that nodes exchange as cb58 have 20 to 65."""

_VALUES = {character: value for value, character in enumerate(ALPHABET)}
_PAIRS = [high + low for high in ALPHABET for low in ALPHABET]
"""All pairs of digits. Encoding two digits at a time halves the divisions."""


class Cb58Reason(StrEnum):
    """Why a text is not the cb58 of the expected bytes."""

    # A character outside the alphabet, none, or far too many characters.
    INVALID_BASE58 = "base58 decoding error: {cause}"
    MISSING_CHECKSUM = "input string is smaller than the checksum size"
    WRONG_CHECKSUM = "invalid input checksum"
    WRONG_SIZE = "invalid hash length: expected {expected} bytes but got {got}"


class Cb58Error(ErrorWithReason):
    """A text that is not the cb58 of the expected bytes."""


class WrongSize(Cb58Error):
    """The size is not the expected one. `got` is None if the length of the text alone shows it."""


def encode(data: bytes) -> str:
    """Return the cb58 encoding of bytes."""
    payload = data + checksum(data)
    number = int.from_bytes(payload, "big")
    pairs = []
    while number:
        number, pair = divmod(number, len(_PAIRS))
        pairs.append(_PAIRS[pair])
    pairs.reverse()
    digits = "".join(pairs).lstrip(ALPHABET[0])
    return ALPHABET[0] * _leading(payload, 0) + digits


def decode(text: str, size: int | None = None) -> bytes:
    """Decode cb58; with `size`, exactly that many bytes.

    Raises:
        Cb58Error: The text is empty, a character is not a base58 digit, or no size is given and the text is longer
            than that of `MAX_SIZE` bytes; there are fewer than four bytes; or the checksum does not
            match the bytes.
        WrongSize: There are more or fewer bytes than `size`.
    """
    # base58 has at most 138 digits for 100 bytes
    limit = MAX_SIZE if size is None else size
    if len(text) > (limit + CHECKSUM_SIZE) * 138 // 100 + 1:
        if size is None:
            raise Cb58Error(Cb58Reason.INVALID_BASE58, cause="too long")
        raise WrongSize(Cb58Reason.WRONG_SIZE, expected=size, got="more")
    payload = _decode_base58(text)
    if len(payload) < CHECKSUM_SIZE:
        raise Cb58Error(Cb58Reason.MISSING_CHECKSUM)
    data = payload[:-CHECKSUM_SIZE]
    if not payload.endswith(checksum(data)):
        raise Cb58Error(Cb58Reason.WRONG_CHECKSUM)
    if size is not None and len(data) != size:
        raise WrongSize(Cb58Reason.WRONG_SIZE, expected=size, got=len(data))
    return data


def _decode_base58(text: str) -> bytes:
    if not text:
        raise Cb58Error(Cb58Reason.INVALID_BASE58, cause="zero length string")
    number = 0
    try:
        for character in text:
            number = number * 58 + _VALUES[character]
    except KeyError as error:
        raise Cb58Error(
            Cb58Reason.INVALID_BASE58, cause=f"invalid character {error.args[0]!r}"
        ) from None
    zeros = _leading(text, ALPHABET[0])
    return bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8, "big")


def _leading(items: Iterable[object], item: object) -> int:
    """Return how often `item` occurs in a row at the start."""
    return sum(1 for _ in takewhile(item.__eq__, items))
