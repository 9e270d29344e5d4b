"""Counts the strings in a JSON text before it is parsed. Pure.

Unlike `primitives.json_limits` it ignores commas and braces in strings, because sources contain many of them.
"""

from typing import AnyStr, Final

_PIECE: Final = 1024 * 1024
"""Characters that are counted before other threads may run."""


def has_more_strings(text: str | bytes, strings: int) -> bool:
    r"""Return whether a JSON text has more strings than a limit, including names of members.

    Up to twice as many may remain undetected, because the closing quote of a string like `"\\"` counts as escaped.
    """
    if isinstance(text, str):
        return _quotes(text, '"', '\\"') > 2 * strings
    return _quotes(text, b'"', b'\\"') > 2 * strings


def _quotes(text: AnyStr, quote: AnyStr, escaped: AnyStr) -> int:
    """Count unescaped quotes; an escaped one may be on both sides of a cut."""
    return sum(
        text.count(quote, start, start + _PIECE) - text.count(escaped, start, start + _PIECE + 1)
        for start in range(0, len(text), _PIECE)
    )
