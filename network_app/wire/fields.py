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
        tag, begins, at = next_field(raw, at, end)
        yield Field(tag >> 3, tag & 7, begins, at)


def next_field(raw: bytes, at: int, end: int) -> tuple[int, int, int]:
    """Return the tag of the field that begins at a place before `end`, and where its content begins and ends.

    A tag is a field's number, eight times, and how it is written.

    Raises:
        MalformedMessage: There is no field.
    """
    # Most numbers are one byte.
    tag, at = raw[at], at + 1
    if tag >= 0x80:
        tag, at = _varint(raw, at - 1, end)
    form = tag & 7
    if form == DELIMITED and at < end and raw[at] < 0x80:
        at += 1
        after = at + raw[at - 1]
    elif form == DELIMITED:
        size, at = _varint(raw, at, end)
        after = at + size
    elif form == VARINT:
        _, after = _varint(raw, at, end)
    elif form in {FIXED_32, FIXED_64}:
        after = at + (4 if form == FIXED_32 else 8)
    else:
        raise MalformedMessage
    if after > end or tag < 8:
        raise MalformedMessage
    return tag, at, after


def count(raw: bytes, start: int, end: int, most: int) -> int:
    """Return how many fields a message has; where it has more than `most`, one more than that.

    Raises:
        MalformedMessage: Something is there that is no field.
    """
    at, found = start, 0
    while at < end and found <= most:
        _, _, at = next_field(raw, at, end)
        found += 1
    return found


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
