"""Texts of token contracts, which are untrusted: names, symbols, numbers, and metadata URIs.

URIs are displayed, but never fetched, because fetching would reveal visitors to the host.
"""

import base64
import binascii
import re
import unicodedata
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes

MAX_NAME: Final = 255
"""Bytes of a name that are kept."""

MAX_SYMBOL: Final = 64
"""Bytes of a symbol that are kept."""

MAX_KEY: Final = 64
"""Limit of bytes of a name's search key."""

MAX_DECIMALS: Final = 77
"""Digits of 2^256 - 1 after the first one: with more decimals every amount would be below 1."""

_WORD: Final = 32
_DROPPED: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of characters that are invisible, change the direction of text around them, or end the line."""

_LINK: Final = re.compile(r"://|\bwww\.|\w\.[a-z]{2,}\b", re.IGNORECASE)


def read_text(output: bytes, maximum: int) -> str | None:
    """Return a text in a contract's answer, cleaned; None if it is empty or not a text.

    The answer is an ABI-encoded string, or exactly 32 bytes up to the first zero, as in contracts without strings.

    Args:
        output: The answer.
        maximum: Limit of bytes (UTF-8) that are kept.
    """
    if len(output) == _WORD:
        return cleaned(output.partition(b"\0")[0], maximum)
    if len(output) < 2 * _WORD or _number(output[:_WORD]) != _WORD:
        return None
    size = _number(output[_WORD : 2 * _WORD])
    if size > len(output) - 2 * _WORD:
        return None
    return cleaned(output[2 * _WORD : 2 * _WORD + size], maximum)


def cleaned(text: bytes, maximum: int) -> str | None:
    """Return untrusted bytes as a single line of visible text; None if nothing is left."""
    decoded = text.decode("utf-8", "replace")
    shown = "".join(
        character for character in decoded if unicodedata.category(character) not in _DROPPED
    ).strip()
    return shown.encode()[:maximum].decode("utf-8", "ignore").strip() or None


def likeness(text: str | None) -> str:
    """Return a form of a text that is the same for texts that look alike; empty for None."""
    if text is None:
        return ""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(folded.split())[:MAX_NAME]


def search_key(text: str | None) -> bytes | None:
    """Return the key for finding a name by its beginning; None for a name without visible characters.

    All databases order bytes in the same way, so names with the same beginning are adjacent.
    """
    return likeness(text).encode()[:MAX_KEY] or None


def looks_like_a_link(text: str) -> bool:
    """Return whether a text looks like a link, so that it is displayed with a warning."""
    return _LINK.search(text) is not None


def read_number(output: bytes) -> int | None:
    """Return a number of 256 bits; None for an answer of another length."""
    return _number(output) if len(output) == _WORD else None


def read_decimals(output: bytes) -> int | None:
    """Return a token's decimals; None if the answer is not a number, or is too large to display amounts."""
    number = read_number(output)
    return number if number is not None and number <= MAX_DECIMALS else None


def read_bool(output: bytes) -> bool | None:
    """Return a boolean; None if the answer is not a boolean."""
    number = read_number(output)
    return None if number is None or number > 1 else bool(number)


def _number(word: bytes) -> int:
    return int.from_bytes(word, "big")


MAX_TEXT: Final = 4096
"""Limit of bytes of a description that are shown."""

_IMAGES: Final = ("png", "jpeg", "gif", "webp", "svg+xml")
_DATA: Final = "data:"


class TokenDescription(NamedTuple):
    """The displayable parts of a token's URI."""

    uri: str
    image: str | None = None
    """The URI itself if it contains an image, which a page can show without a request."""
    text: str | None = None
    """The content of another kind of data URI."""


def described(uri: str) -> TokenDescription:
    """Return the displayable parts of a URI: for `data:` the content, for others the URI as text."""
    if not uri.lower().startswith(_DATA):
        return TokenDescription(uri)
    head, comma, body = uri[len(_DATA) :].partition(",")
    if not comma:
        return TokenDescription(uri)
    kind, *parameters = head.lower().split(";")
    if kind in {f"image/{subtype}" for subtype in _IMAGES}:
        return TokenDescription(uri, image=uri)
    try:
        raw = unquote_to_bytes(body)
        content = base64.b64decode(raw, validate=True) if "base64" in parameters else raw
    except (binascii.Error, ValueError):
        return TokenDescription(uri)
    return TokenDescription(uri, text=cleaned(content, MAX_TEXT))
