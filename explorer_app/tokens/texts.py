"""What contracts answer about themselves, read with suspicion: names, symbols, small and large numbers."""

import re
import unicodedata
from typing import Final

MOST_NAME: Final = 255
"""Bytes of a name that are kept."""

MOST_SYMBOL: Final = 64
"""Bytes of a symbol that are kept."""

MOST_KEY: Final = 64
"""Bytes by which a name is found."""

MOST_DECIMALS: Final = 77
"""Digits of 2^256 - 1 behind its first: more decimals leave no number."""

_WORD: Final = 32
_DROPPED: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of characters that show nothing, turn what stands around them, or end the line."""

_LINK: Final = re.compile(r"://|\bwww\.|\w\.[a-z]{2,}\b", re.IGNORECASE)


def read_text(output: bytes, most: int) -> str | None:
    """Return a text that a contract answered, cleaned; None for an empty one and for what is no text.

    It is a string by the ABI, or exactly 32 bytes that end at the first zero, as before there were strings.

    Args:
        output: The answer.
        most: Bytes (UTF-8) that are kept of it.
    """
    if len(output) == _WORD:
        return cleaned(output.partition(b"\0")[0], most)
    if len(output) < 2 * _WORD or _number(output[:_WORD]) != _WORD:
        return None
    size = _number(output[_WORD : 2 * _WORD])
    if size > len(output) - 2 * _WORD:
        return None
    return cleaned(output[2 * _WORD : 2 * _WORD + size], most)


def cleaned(text: bytes, most: int) -> str | None:
    """Return bytes of a stranger as text of one line that does nothing but show; None if nothing is left."""
    decoded = text.decode("utf-8", "replace")
    shown = "".join(one for one in decoded if unicodedata.category(one) not in _DROPPED).strip()
    return shown.encode()[:most].decode("utf-8", "ignore").strip() or None


def likeness(text: str | None) -> str:
    """Return what two texts have in common that look alike to who reads quickly; empty of none."""
    if text is None:
        return ""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(folded.split())[:MOST_NAME]


def search_key(text: str | None) -> bytes | None:
    """Return by what a name is found whose beginning is typed; None for none.

    Bytes stand in the same order in every database: all that begin alike are neighbours.
    """
    return likeness(text).encode()[:MOST_KEY] or None


def looks_like_a_link(text: str) -> bool:
    """Say whether a text is made to be visited: then it is shown as something to be wary of."""
    return _LINK.search(text) is not None


def read_number(output: bytes) -> int | None:
    """Return a number of 256 bits; None for an answer of another length."""
    return _number(output) if len(output) == _WORD else None


def read_decimals(output: bytes) -> int | None:
    """Return how many decimals a token has; None for no number, or one with which no amount can be shown."""
    found = read_number(output)
    return found if found is not None and found <= MOST_DECIMALS else None


def read_bool(output: bytes) -> bool | None:
    """Return yes or no; None for what is neither."""
    found = read_number(output)
    return None if found is None or found > 1 else bool(found)


def _number(word: bytes) -> int:
    return int.from_bytes(word, "big")
