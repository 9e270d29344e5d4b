"""The fields that bytes of a protobuf message hold, found without making anything of them. Pure.

Making objects costs a hundred times what these bytes took on the wire: look first at how many there
would be. The values are read by protobuf itself.
"""

from collections.abc import Iterator
from typing import NamedTuple

from network_app.wire.errors import MalformedMessage

VARINT, FIXED_64, DELIMITED, FIXED_32 = 0, 1, 2, 5
"""How a field is written; groups (3 and 4) are written by nobody any more."""
LONGEST_VARINT = 10


class Field(NamedTuple):
    """A field's number, how it is written, and where its content is."""

    number: int
    form: int
    start: int
    end: int


def walk(raw: bytes, start: int = 0, end: int | None = None) -> Iterator[Field]:
    """Return the fields of a message, each element of a repeated one, as they follow each other.

    Raises:
        MalformedMessage: Something is there that is no field.
    """
    at, end = start, len(raw) if end is None else end
    while at < end:
        tag, at = _varint(raw, at, end)
        number, form = tag >> 3, tag & 7
        if form == VARINT:
            _, after = _varint(raw, at, end)
        elif form == DELIMITED:
            size, at = _varint(raw, at, end)
            after = at + size
        elif form in {FIXED_32, FIXED_64}:
            after = at + (4 if form == FIXED_32 else 8)
        else:
            raise MalformedMessage
        if after > end or not number:
            raise MalformedMessage
        yield Field(number, form, at, after)
        at = after


def number_at(raw: bytes) -> int:
    """Return the number of the field that bytes begin with; 0 when they are none.

    Raises:
        MalformedMessage: They begin with something else.
    """
    return _varint(raw, 0, len(raw))[0] >> 3 if raw else 0


def _varint(raw: bytes, at: int, end: int) -> tuple[int, int]:
    """Return a number, and where it ends."""
    value = shift = 0
    for place in range(at, min(at + LONGEST_VARINT, end)):
        byte = raw[place]
        if byte < 0x80:
            return value | byte << shift, place + 1
        value |= (byte & 0x7F) << shift
        shift += 7
    raise MalformedMessage
