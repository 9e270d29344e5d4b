"""Parses the bodies of forms like Django, but piece by piece.

Django's own parser creates an object for each percent sign, which takes fifty times as long as decoding and blocks
all other threads meanwhile. A submission of sources contains millions of percent signs.
"""

import re
from binascii import a2b_qp
from codecs import IncrementalDecoder, getincrementaldecoder
from collections.abc import Iterator
from typing import Final

import msgspec
from django.conf import settings
from django.core.exceptions import TooManyFieldsSent

from explorer_app.verification.errors import SubmissionReason, SubmissionTooLarge
from primitives.json_limits import has_more_strings, is_utf8

PIECE: Final = 8 * 1024
"""Bytes processed before other threads may run: about a millisecond."""

_ALONE: Final = re.compile(rb"%(?![0-9A-Fa-f]{2})")
"""Matches a percent sign that does not begin an escape."""
_LONGEST_CUT: Final = 2
"""Bytes of the longest incomplete escape."""
_utf8: Final = getincrementaldecoder("utf-8")


class MalformedForm(Exception):
    """The body does not match its content type."""


def max_fields() -> int:
    """Return how many fields Django allows in a form."""
    maximum: int = settings.DATA_UPLOAD_MAX_NUMBER_FIELDS
    return maximum


def from_urlencoded(body: bytes, *, maximum: int) -> dict[str, str]:
    """Parse a form; if several fields have the same name, the last one counts.

    Args:
        body: The body of the request.
        maximum: Limit of characters in a value.

    Raises:
        TooManyFieldsSent: The form has more fields than Django allows.
        SubmissionTooLarge: A name or value is longer than the limit.
    """
    if body.count(b"&") >= max_fields():
        raise TooManyFieldsSent
    read = _FormDecoder(body, maximum)
    fields: dict[str, str] = {}
    for start, end in _fields(body):
        middle = body.find(b"=", start, end)
        if middle < 0:
            fields[read.text(start, end)] = ""
        else:
            fields[read.text(start, middle)] = read.text(middle + 1, end)
    return fields


def from_json(body: bytes, *, maximum: int) -> dict[str, str]:
    """Parse a form that is a JSON object of strings.

    Args:
        body: The body of the request.
        maximum: Limit of its bytes. JSON needs few escapes, so no allowance for them is made.

    Raises:
        SubmissionTooLarge: The body is longer than the limit.
        TooManyFieldsSent: The form has more fields than Django allows.
        MalformedForm: The body is not a JSON object of strings.
    """
    if not body:
        return {}
    if len(body) > maximum:
        raise SubmissionTooLarge(SubmissionReason.SUBMISSION_TOO_LARGE, maximum=maximum)
    # The strings are counted before any of them is decoded.
    if has_more_strings(body, 2 * max_fields()):
        raise TooManyFieldsSent
    try:
        fields: dict[str, str] = msgspec.json.decode(body, type=dict[str, str])
    except (msgspec.DecodeError, RecursionError) as error:
        raise MalformedForm from error
    if len(fields) > max_fields():
        raise TooManyFieldsSent
    return fields


def _fields(body: bytes) -> Iterator[tuple[int, int]]:
    """Yield start and end of each field; empty fields are skipped."""
    start = 0
    while start < len(body):
        end = body.find(b"&", start)
        end = len(body) if end < 0 else end
        if end > start:
            yield start, end
        start = end + 1


class _FormDecoder:
    """Decodes names and values of one body."""

    def __init__(self, body: bytes, maximum: int) -> None:
        self._body = body
        self._most = maximum
        self._is_utf8 = is_utf8(body)

    def text(self, start: int, end: int) -> str:
        """Return the decoded text between two offsets. Raises `SubmissionTooLarge`."""
        decoder = _utf8("replace")
        parts: list[str] = []
        length = 0
        for piece in _pieces(self._body, start, end):
            parts.append(self._decoded(piece, decoder))
            length += len(parts[-1])
            if length > self._most:
                raise SubmissionTooLarge(SubmissionReason.SUBMISSION_TOO_LARGE, maximum=self._most)
        parts.append(decoder.decode(b"", final=True))
        return "".join(parts)

    def _decoded(self, piece: bytes, decoder: IncrementalDecoder) -> str:
        # Some clients send Latin-1 without declaring it; Django reads it in the same way.
        return decoder.decode(
            _unquoted(piece if self._is_utf8 else piece.decode("latin-1").encode())
        )


def _pieces(body: bytes, start: int, end: int) -> Iterator[bytes]:
    """Split a part of a body into pieces, without splitting an escape."""
    while start < end:
        cut = min(start + PIECE, end)
        if cut < end:
            escape = body.rfind(b"%", cut - _LONGEST_CUT, cut)
            cut = cut if escape < 0 else escape
        yield body[start:cut]
        start = cut


def _unquoted(piece: bytes) -> bytes:
    """Return a piece with its escapes such as `%41` decoded.

    Quoted-printable text has the same escapes with another sign, and Python decodes it without an object for each.
    """
    piece = _ALONE.sub(b"%25", piece.replace(b"+", b" "))
    return a2b_qp(piece.replace(b"=", b"%3D").replace(b"%", b"="))
