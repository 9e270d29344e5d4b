"""Bech32 (BIP-173): a human-readable prefix, groups of five bits as letters, six letters of checksum.

Written here because no kept package does only this: the BIP's authors' own has had no release since
2020, others come with a wallet, and none says what is wrong with a text in the reference's words.

    Bech32Error     a text that is none; its message says why
"""

from collections.abc import Iterable

CHARSET = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
"""The letter of each group."""
MIN_LENGTH = 8
MAX_LENGTH = 90
"""Beyond it the checksum says little."""

_SEPARATOR = "1"
_CHECKSUM_LENGTH = 6
_GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_GROUPS = {letter: group for group, letter in enumerate(CHARSET)}


class Bech32Error(Exception):
    """A text that is no bech32."""


def encode(prefix: str, data: bytes) -> str:
    """Return the bech32 of bytes, with a prefix in lower case."""
    return encode_groups(prefix, _to_groups(data))


def encode_groups(prefix: str, groups: list[int]) -> str:
    """Return the bech32 of groups of five bits, with a prefix in lower case."""
    remainder = _remainder(prefix, [*groups, *[0] * _CHECKSUM_LENGTH]) ^ 1
    checksum = (remainder >> shift & 31 for shift in range(25, -1, -5))
    return f"{prefix}{_SEPARATOR}{''.join(CHARSET[group] for group in (*groups, *checksum))}"


def decode(text: str) -> tuple[str, bytes]:
    """Return the prefix, in lower case, and the bytes.

    Raises:
        Bech32Error: Length, letters or checksum are wrong, or bits are left over.
    """
    prefix, groups = decode_groups(text)
    return prefix, _to_bytes(groups)


def decode_groups(text: str) -> tuple[str, list[int]]:
    """Return the prefix, in lower case, and the groups of five bits. Raises as `decode`."""
    if not MIN_LENGTH <= len(text) <= MAX_LENGTH:
        raise Bech32Error(f"invalid bech32 string length {len(text)}")
    if text not in {text.lower(), text.upper()}:
        raise Bech32Error("string not all lowercase or all uppercase")
    for character in text:
        if not "!" <= character <= "~":
            raise Bech32Error(f"invalid character in string: {character!r}")
    text = text.lower()
    separator = text.rfind(_SEPARATOR)
    if separator < 1 or separator + 1 + _CHECKSUM_LENGTH > len(text):
        raise Bech32Error(f"invalid separator index {separator}")
    prefix, letters = text[:separator], text[separator + 1 :]
    for letter in letters:
        if letter not in _GROUPS:
            raise Bech32Error(f"invalid character not part of charset: {letter!r}")
    groups = [_GROUPS[letter] for letter in letters]
    if _remainder(prefix, groups) != 1:
        raise Bech32Error("invalid checksum")
    return prefix, groups[:-_CHECKSUM_LENGTH]


def _remainder(prefix: str, groups: Iterable[int]) -> int:
    """Return the remainder of prefix and groups as a polynomial; 1 with a right checksum."""
    high = (ord(character) >> 5 for character in prefix)
    low = (ord(character) & 31 for character in prefix)
    remainder = 1
    for value in (*high, 0, *low, *groups):
        top = remainder >> 25
        remainder = (remainder & 0x1FFFFFF) << 5 ^ value
        for bit, term in enumerate(_GENERATOR):
            if top >> bit & 1:
                remainder ^= term
    return remainder


def _to_groups(data: bytes) -> list[int]:
    count = -(-len(data) * 8 // 5)
    bits = int.from_bytes(data, "big") << count * 5 - len(data) * 8
    return [bits >> shift & 31 for shift in range((count - 1) * 5, -1, -5)]


def _to_bytes(groups: list[int]) -> bytes:
    bits = 0
    for group in groups:
        bits = bits << 5 | group
    size, left_over = divmod(len(groups) * 5, 8)
    # what fills the last group up is less than a group, and zero
    if left_over >= 5 or bits & (1 << left_over) - 1:
        raise Bech32Error("invalid incomplete group")
    return (bits >> left_over).to_bytes(size, "big")
