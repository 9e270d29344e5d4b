"""cb58: base58 of bytes and the last four bytes of their sha256 (pchain.md 1.2).

Base58 takes quadratic time, so the length is checked before anything is computed.

    Cb58Error
    ├── InvalidBase58       a character outside the alphabet, or far too many characters
    ├── MissingChecksum     fewer than the four bytes of the checksum
    ├── WrongChecksum       the checksum does not match the bytes
    └── WrongSize           not the expected number of bytes
"""

from collections.abc import Iterable
from itertools import takewhile

from primitives.hashing import CHECKSUM_SIZE, checksum

ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

MAX_SIZE = 2048
"""Maximum bytes in a text of unknown size. Values that nodes exchange as cb58 have 20 to 65."""

_VALUES = {character: value for value, character in enumerate(ALPHABET)}
_PAIRS = [high + low for high in ALPHABET for low in ALPHABET]
"""All pairs of digits. Encoding two digits at a time halves the divisions."""


class Cb58Error(Exception):
    """A text that is not the cb58 of the expected bytes."""


class InvalidBase58(Cb58Error):
    """The text is not base58."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"base58 decoding error: {reason}")


class MissingChecksum(Cb58Error):
    """The text is too short for a checksum."""

    def __init__(self) -> None:
        super().__init__("input string is smaller than the checksum size")


class WrongChecksum(Cb58Error):
    """The checksum does not match the bytes, for example because of a typing error."""

    def __init__(self) -> None:
        super().__init__("invalid input checksum")


class WrongSize(Cb58Error):
    """The size is not the expected one. `got` is None if the length of the text alone shows it."""

    def __init__(self, expected: int, got: int | None) -> None:
        length = "more" if got is None else str(got)
        super().__init__(f"invalid hash length: expected {expected} bytes but got {length}")
        self.expected = expected
        self.got = got


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
        InvalidBase58: A character is not a base58 digit, or no size is given and the text is longer
            than that of `MAX_SIZE` bytes.
        MissingChecksum: There are fewer than four bytes.
        WrongChecksum: The checksum does not match the bytes.
        WrongSize: There are more or fewer bytes than `size`.
    """
    # base58 has at most 138 digits for 100 bytes
    limit = MAX_SIZE if size is None else size
    if len(text) > (limit + CHECKSUM_SIZE) * 138 // 100 + 1:
        if size is None:
            raise InvalidBase58("too long")
        raise WrongSize(size, None)
    payload = _decode_base58(text)
    if len(payload) < CHECKSUM_SIZE:
        raise MissingChecksum
    data = payload[:-CHECKSUM_SIZE]
    if not payload.endswith(checksum(data)):
        raise WrongChecksum
    if size is not None and len(data) != size:
        raise WrongSize(size, len(data))
    return data


def _decode_base58(text: str) -> bytes:
    number = 0
    try:
        for character in text:
            number = number * 58 + _VALUES[character]
    except KeyError as error:
        raise InvalidBase58(f"invalid character {error.args[0]!r}") from None
    zeros = _leading(text, ALPHABET[0])
    return bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8, "big")


def _leading(items: Iterable[object], item: object) -> int:
    """Return how often `item` occurs in a row at the start."""
    return sum(1 for _ in takewhile(item.__eq__, items))
