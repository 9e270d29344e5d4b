"""cb58: base58 of bytes and the last four bytes of their sha256 (pchain.md 1.2).

Base58 is quadratic in its length: lengths are compared before anything is computed.

    Cb58Error
    ├── InvalidBase58       a character outside the alphabet, or far too many characters
    ├── MissingChecksum     fewer than the four bytes of the checksum
    ├── WrongChecksum       the checksum of other bytes
    └── WrongSize           not as many bytes as were asked for
"""

from collections.abc import Iterable
from itertools import takewhile

from primitives.hashing import CHECKSUM_SIZE, checksum

ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

MAX_SIZE = 2048
"""How many bytes a text of unknown size may hold; what nodes exchange as cb58 has 20 to 65."""

_VALUES = {character: value for value, character in enumerate(ALPHABET)}
_PAIRS = [high + low for high in ALPHABET for low in ALPHABET]
"""Two digits at a time: half the divisions."""


class Cb58Error(Exception):
    """A text that is not the cb58 of the bytes that were asked for."""


class InvalidBase58(Cb58Error):
    """No base58."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"base58 decoding error: {reason}")


class MissingChecksum(Cb58Error):
    """Too short to hold a checksum."""

    def __init__(self) -> None:
        super().__init__("input string is smaller than the checksum size")


class WrongChecksum(Cb58Error):
    """Bytes and checksum do not belong together: a typing error."""

    def __init__(self) -> None:
        super().__init__("invalid input checksum")


class WrongSize(Cb58Error):
    """Of another size than asked for. `got` is None where the text alone shows it."""

    def __init__(self, expected: int, got: int | None) -> None:
        found = "more" if got is None else str(got)
        super().__init__(f"invalid hash length: expected {expected} bytes but got {found}")
        self.expected = expected
        self.got = got


def encode(data: bytes) -> str:
    """Return the cb58 of bytes."""
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
    """Read the bytes that a text stands for, exactly size of them where it is given.

    Raises:
        InvalidBase58: A character is no digit of base58, or no size is given and the text is longer
            than that of `MAX_SIZE` bytes.
        MissingChecksum: There are fewer than four bytes.
        WrongChecksum: They do not belong together.
        WrongSize: There are more or fewer bytes than size.
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
    """Return how often item stands in front."""
    return sum(1 for _ in takewhile(item.__eq__, items))
