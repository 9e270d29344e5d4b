"""Limits for untrusted JSON: number of values, nesting and encoding are checked before decoding.

A text of a few megabytes can hold a million values, each of which becomes an object of up to fifty
times its length. Every decoder of external JSON uses this module first. Pure.
"""

import re
from array import array
from codecs import getincrementaldecoder
from itertools import accumulate
from typing import AnyStr, Final

MAX_DEPTH: Final = 64
"""Maximum nesting of arrays and objects in a text whose values are decoded."""

MAX_VALUES: Final = 100_000
"""Maximum values in a body, members and elements on all levels; ten thousand addresses are as many
and no call needs more."""

FILE_VALUES: Final = 4_000_000
"""Maximum values in a file of the operator, or in a dump of a chain's state: half a million accounts."""

_TOKEN: Final = re.compile(rb'[^"\[\]{},]{0,65536}+(["\[\]{},])?')
"""Bytes without structure, then a structural character. Possessive, so it takes linear time."""

_STRING_PART: Final = re.compile(rb'(?:[^"\\]{1,64}+|\\.){0,4096}+("?)', re.DOTALL)
"""A part of a string after its first quote, and its closing quote. No other thread runs during one match, so a match
covers at most 256 KiB, which takes three milliseconds."""

_MAX_TOKENS: Final = 5 * MAX_VALUES
"""Maximum tokens that are examined: a text with fewer values and more tokens is not JSON."""

_BLOCK: Final = 1024 * 1024
"""Bytes that are counted in one call, during which no other thread runs: about a millisecond."""

# Possessive: linear on every input. Short strings are matched by the hundred; a long string is matched
# separately, in pieces. A piece has at most half a megabyte, so that other threads get a turn.
_SHORT: Final = rb'"(?:[^"\\]{1,512}+|\\.){0,16}+"'
_STRING: Final = re.compile(_SHORT, re.DOTALL)
_PIECE: Final = re.compile(rb'(?:[^"]{1,4096}+|' + _SHORT + rb"){1,64}+", re.DOTALL)
_SIGNS: Final = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NOT_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in b"[]{}")

_STRIDE: Final = 1024 * 1024
"""Characters in which quotes are counted before other threads may run."""

_CHARACTERS: Final = 64 * 1024
"""Bytes that are decoded in one call, to at most four times as many."""

_utf8: Final = getincrementaldecoder("utf-8")

_LEVEL: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_COMMA: Final = ord(",")
_QUOTE: Final = ord('"')


class TooManyValues(Exception):
    """A text has more than `MAX_VALUES` values."""


class TooDeep(Exception):
    """A text is nested too deeply."""


def end_of_string(text: bytes, position: int) -> int:
    """Return the end of the string whose opening quote precedes a position, or of the text if it is open."""
    while True:
        piece = _STRING_PART.match(text, position)
        assert piece is not None, "the pattern also matches the empty text"
        if piece[1] or piece.end() == position:
            return piece.end() if piece[1] else len(text)
        position = piece.end()


def may_hold_more(body: bytes, values: int) -> bool:
    """Return whether a text may hold more than this many values. Signs in strings count as values too."""
    if len(body) <= values:
        return False
    count = 0
    for start in range(0, len(body), _BLOCK):
        end = start + _BLOCK
        count += body.count(b",", start, end) + body.count(b"[", start, end)
        count += body.count(b"{", start, end)
        if count > values:
            return True
    return False


def nesting(text: bytes) -> int:
    """Return the nesting depth of arrays and objects in a JSON text. Brackets in strings do not count."""
    deepest = level = position = 0
    while position < len(text):
        piece = _PIECE.match(text, position)
        if piece is None:  # a long string, or an unterminated one
            position = end_of_string(text, position + 1)
            continue
        signs = array("b", _STRING.sub(b"", piece[0]).translate(_SIGNS, _NOT_BRACKETS))
        deepest = max(deepest, level + max(accumulate(signs), default=0))
        level += sum(signs)
        position = piece.end()
    return deepest


def verify(text: bytes, *, values: int = MAX_VALUES, levels: int = MAX_DEPTH) -> None:
    """Check that a JSON text is small enough to be decoded.

    Args:
        text: The text.
        values: Maximum number of values; commas and brackets in strings count as values too.
        levels: Maximum nesting of arrays and objects.

    Raises:
        TooManyValues: It may hold more values.
        TooDeep: It is nested more deeply.
    """
    if may_hold_more(text, values):
        raise TooManyValues
    if _may_be_deeper(text, levels) and nesting(text) > levels:
        raise TooDeep


def _may_be_deeper(text: bytes, levels: int) -> bool:
    """Return whether a text has enough opening brackets for more than this many levels."""
    count = 0
    for start in range(0, len(text), _BLOCK):
        end = start + _BLOCK
        count += text.count(b"[", start, end) + text.count(b"{", start, end)
        if count > levels:
            return True
    return False


def is_utf8(text: bytes) -> bool:
    """Return whether a text is UTF-8, without making a decoded copy of it."""
    if text.isascii():
        return True
    decoder = _utf8()
    try:
        for start in range(0, len(text), _CHARACTERS):
            decoder.decode(text[start : start + _CHARACTERS])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def bounded(body: bytes, elements: int | None, levels: int) -> bytes:
    """Return a body that may be decoded.

    Args:
        body: A JSON text.
        elements: Number of elements of an array that the caller wants. A longer array keeps these and a
            few more, so that the caller sees that it is longer.
        levels: Maximum nesting of arrays and objects.

    Raises:
        TooManyValues: The text has too many values.
        TooDeep: It is nested too deeply; not every such text is detected here.
    """
    commas = body.count(b",")
    if elements is None or commas <= elements:
        elements = None
        if not may_hold_more(body, MAX_VALUES):
            return body
    level = values = outermost = steps = position = 0
    while position < len(body):
        token = _TOKEN.match(body, position)
        assert token is not None, "the pattern also matches the empty text"
        steps += 1
        position = token.end()
        start = token.start(1)
        if start < 0:
            continue
        sign = body[start]
        if sign == _COMMA:
            values += 1
            outermost += level == 1
            if elements is not None and outermost > elements:
                return body[:start] + b"]"
        elif sign == _QUOTE:
            position = end_of_string(body, position)
        else:
            step = _LEVEL[sign]
            level += step
            values += step > 0
            if level > levels:
                raise TooDeep
        if values > MAX_VALUES or steps > _MAX_TOKENS:
            raise TooManyValues
    return body


def has_more_strings(text: str | bytes, strings: int) -> bool:
    r"""Return whether a JSON text has more strings than a limit, including names of members.

    Unlike `may_hold_more` it ignores commas and braces in strings, because sources contain many of them.

    Up to twice as many may remain undetected, because the closing quote of a string like `"\\"` counts as escaped.
    """
    if isinstance(text, str):
        return _quotes(text, '"', '\\"') > 2 * strings
    return _quotes(text, b'"', b'\\"') > 2 * strings


def _quotes(text: AnyStr, quote: AnyStr, escaped: AnyStr) -> int:
    """Count unescaped quotes; an escaped one may be on both sides of a cut."""
    return sum(
        text.count(quote, start, start + _STRIDE) - text.count(escaped, start, start + _STRIDE + 1)
        for start in range(0, len(text), _STRIDE)
    )
