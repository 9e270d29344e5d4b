"""How much a JSON text holds, counted before anything is made of it.

A text of a few megabytes can say a million values, each of which would become an object of fifty
times its length.
"""

import re
from typing import Final

MAX_VALUES: Final = 100_000
"""Values that a body may hold, members and elements on all levels; ten thousand addresses are as many
and no call needs more."""

_TOKEN: Final = re.compile(rb'[^"\[\]{},]{0,65536}+(["\[\]{},])?')
"""What is nothing, then a sign. Possessive: no text takes longer than its length."""

_INSIDE: Final = re.compile(rb'(?:[^"\\]{1,64}+|\\.){0,4096}+("?)', re.DOTALL)
"""A piece of a string behind its first quote, and its closing quote. One call of a pattern lets nobody
else run, so none goes over more than 256 KiB: three milliseconds."""

_STEPS: Final = 5 * MAX_VALUES
"""Tokens that are looked at: a text with fewer values and more tokens is no JSON."""

_LEVEL: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_COMMA: Final = ord(",")
_QUOTE: Final = ord('"')


class TooManyValues(Exception):
    """A text holds more than `MAX_VALUES`."""


class TooDeep(Exception):
    """A text has more levels than it may have."""


def end_of_string(text: bytes, position: int) -> int:
    """Return where a string ends whose opening quote is before a position; an open one ends the text."""
    while True:
        piece = _INSIDE.match(text, position)
        assert piece is not None, "the pattern fits nothing too"
        if piece[1] or piece.end() == position:
            return piece.end() if piece[1] else len(text)
        position = piece.end()


def may_hold_more(body: bytes, values: int) -> bool:
    """Whether a text may hold more values than so many; signs in strings are counted too."""
    return len(body) > values and (body.count(b",") + body.count(b"[") + body.count(b"{") > values)


def bounded(body: bytes, elements: int | None, levels: int) -> bytes:
    """Return a body that may be decoded.

    Args:
        body: a JSON text.
        elements: if the text is an array, so many elements of it are wanted. Of a longer one only
            these and a few more are left, so that it can be seen to be longer.
        levels: of arrays and objects that it may have.

    Raises:
        TooManyValues: it holds too many.
        TooDeep: it has too many levels; not every such text is found out here.
    """
    commas = body.count(b",")
    if elements is None or commas <= elements:
        elements = None
        if not may_hold_more(body, MAX_VALUES):
            return body
    level = values = outermost = steps = position = 0
    while position < len(body):
        token = _TOKEN.match(body, position)
        assert token is not None, "the pattern fits nothing too"
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
        if values > MAX_VALUES or steps > _STEPS:
            raise TooManyValues
    return body
