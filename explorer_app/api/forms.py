"""Reads the bodies of forms as Django does, in pieces.

Django's own way makes an object of each percent sign, fifty times as long as what it says, and lets no other thread
run meanwhile. A submission of sources has millions of them.
"""

import re
from binascii import a2b_qp
from codecs import IncrementalDecoder, getincrementaldecoder
from collections.abc import Iterator
from typing import Final

import msgspec
from django.conf import settings
from django.core.exceptions import TooManyFieldsSent

from explorer_app.verification.counting import has_more_strings
from explorer_app.verification.errors import TooLarge
from primitives.json_limits import is_utf8

PIECE: Final = 8 * 1024
"""Bytes that are worked on before others may go on: about a millisecond."""

_ALONE: Final = re.compile(rb"%(?![0-9A-Fa-f]{2})")
"""A percent sign that begins no escape."""
_LONGEST_CUT: Final = 2
"""Bytes of an escape without its end."""
_utf8: Final = getincrementaldecoder("utf-8")


class MalformedForm(Exception):
    """A body that is not what its type says."""


def most_fields() -> int:
    """Return how many fields Django lets any form have."""
    most: int = settings.DATA_UPLOAD_MAX_NUMBER_FIELDS
    return most


def from_urlencoded(body: bytes, *, most: int) -> dict[str, str]:
    """Read a form; of fields with one name the last counts.

    Args:
        body: What was sent.
        most: Characters that a value may have.

    Raises:
        TooManyFieldsSent: It has more than Django lets any form have.
        TooLarge: A name or value is longer.
    """
    if body.count(b"&") >= most_fields():
        raise TooManyFieldsSent
    read = _Reader(body, most)
    found: dict[str, str] = {}
    for start, end in _fields(body):
        middle = body.find(b"=", start, end)
        if middle < 0:
            found[read.text(start, end)] = ""
        else:
            found[read.text(start, middle)] = read.text(middle + 1, end)
    return found


def from_json(body: bytes, *, most: int) -> dict[str, str]:
    """Read a form that is a JSON object of texts.

    Args:
        body: What was sent.
        most: Bytes that it may have; unlike a percent sign's, its escapes are few.

    Raises:
        TooLarge: It is longer.
        TooManyFieldsSent: It has more than Django lets any form have.
        MalformedForm: It is none.
    """
    if not body:
        return {}
    if len(body) > most:
        raise TooLarge(most)
    # Nothing may be made of them before they are counted.
    if has_more_strings(body, 2 * most_fields()):
        raise TooManyFieldsSent
    try:
        found: dict[str, str] = msgspec.json.decode(body, type=dict[str, str])
    except (msgspec.DecodeError, RecursionError) as error:
        raise MalformedForm from error
    if len(found) > most_fields():
        raise TooManyFieldsSent
    return found


def _fields(body: bytes) -> Iterator[tuple[int, int]]:
    """Find where each field begins and ends; empty ones are none."""
    start = 0
    while start < len(body):
        end = body.find(b"&", start)
        end = len(body) if end < 0 else end
        if end > start:
            yield start, end
        start = end + 1


class _Reader:
    """Reads names and values of one body."""

    def __init__(self, body: bytes, most: int) -> None:
        self._body = body
        self._most = most
        self._is_utf8 = is_utf8(body)

    def text(self, start: int, end: int) -> str:
        """Return what stands between two places. Raises `TooLarge`."""
        decoder = _utf8("replace")
        parts: list[str] = []
        length = 0
        for piece in _pieces(self._body, start, end):
            parts.append(self._decoded(piece, decoder))
            length += len(parts[-1])
            if length > self._most:
                raise TooLarge(self._most)
        parts.append(decoder.decode(b"", final=True))
        return "".join(parts)

    def _decoded(self, piece: bytes, decoder: IncrementalDecoder) -> str:
        # Some clients send what they have in Latin-1, without a word: so Django sees it.
        return decoder.decode(
            _unquoted(piece if self._is_utf8 else piece.decode("latin-1").encode())
        )


def _pieces(body: bytes, start: int, end: int) -> Iterator[bytes]:
    """Cut a part of a body into pieces, none of them within an escape."""
    while start < end:
        cut = min(start + PIECE, end)
        if cut < end:
            escape = body.rfind(b"%", cut - _LONGEST_CUT, cut)
            cut = cut if escape < 0 else escape
        yield body[start:cut]
        start = cut


def _unquoted(piece: bytes) -> bytes:
    """Return what a piece says, each `%41` in it read.

    Quoted-printable text has the same escapes, with another sign, and Python reads it without an object for each.
    """
    piece = _ALONE.sub(b"%25", piece.replace(b"+", b" "))
    return a2b_qp(piece.replace(b"=", b"%3D").replace(b"%", b"="))
