"""How many strings a JSON text holds, counted before anything is made of it. Pure.

Unlike `primitives.json_limits` this is not misled by commas and braces in strings: sources are long and full of them.
"""

from typing import AnyStr, Final

_PIECE: Final = 1024 * 1024
"""Characters that are counted before other threads may go on."""


def has_more_strings(text: str | bytes, strings: int) -> bool:
    r"""Return whether a JSON text has more strings than so many, names of members among them.

    It may be let off with twice as many: of one that ends like `"\\"` the last quote is taken for an escaped one.
    """
    if isinstance(text, str):
        return _quotes(text, '"', '\\"') > 2 * strings
    return _quotes(text, b'"', b'\\"') > 2 * strings


def _quotes(text: AnyStr, quote: AnyStr, escaped: AnyStr) -> int:
    """Count quotes without those that are escaped, which may lie on both sides of a cut."""
    return sum(
        text.count(quote, start, start + _PIECE) - text.count(escaped, start, start + _PIECE + 1)
        for start in range(0, len(text), _PIECE)
    )
