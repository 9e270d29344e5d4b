"""Scans the fields of an encoded protobuf message without creating objects, and their limits (p2p.md 2 to 5, 9). Pure.

Decoding costs a hundred times as much as the bytes on the wire, so count the objects first. Protobuf itself
decodes the values.

Unspecified: the reference accepts 2 MiB for every kind. A limit here is several times the size that its
messages need: 20 IDs of a frontier, 15 addresses of 2.6 KiB, a filter for tens of thousands of keys.
"""

from collections.abc import Iterator
from typing import NamedTuple

from network_app.wire.errors import UnreadableContent, WireReason

KIB = 1024
LARGEST = 2048 * KIB
"""Maximum bytes of any message."""
EARLY_SIZE = 64 * KIB
"""Maximum bytes of a message, and of a frame, before the handshake is finished."""
EARLY_KINDS = frozenset({"ping", "pong", "handshake", "get_peer_list", "peer_list"})
"""Kinds of messages that are accepted before the handshake is finished."""


class MessageLimit(NamedTuple):
    """The limits for one kind of message."""

    size: int
    """Maximum bytes, decompressed."""
    fields: int
    """Maximum number of fields, including unknown ones and each element of a repeated field."""


_FIELDS = 16
_SMALL = MessageLimit(KIB, _FIELDS)
_MEDIUM = MessageLimit(64 * KIB, _FIELDS)
_LARGE = MessageLimit(LARGEST, _FIELDS)
_IDS = MessageLimit(64 * KIB, 1024 + _FIELDS)

LIMITS = {
    "ping": _SMALL,
    "pong": _SMALL,
    "handshake": MessageLimit(64 * KIB, 128),
    "get_peer_list": _MEDIUM,
    "peer_list": MessageLimit(64 * KIB, 64),
    "get_state_summary_frontier": _SMALL,
    "state_summary_frontier": _MEDIUM,
    "get_accepted_state_summary": _IDS,
    "accepted_state_summary": _IDS,
    "get_accepted_frontier": _SMALL,
    "accepted_frontier": _SMALL,
    "get_accepted": _IDS,
    "accepted": _IDS,
    "get_ancestors": _SMALL,
    "ancestors": MessageLimit(LARGEST, 2000 + _FIELDS),
    "get": _SMALL,
    "put": _LARGE,
    "push_query": _LARGE,
    "pull_query": _SMALL,
    "chits": _SMALL,
    "app_request": _MEDIUM,
    "app_response": _LARGE,
    "app_gossip": _LARGE,
    "app_error": _MEDIUM,
    "simplex": _LARGE,
}


VARINT, FIXED_64, DELIMITED, FIXED_32 = 0, 1, 2, 5
"""Wire types of fields; groups (3 and 4) are obsolete."""
LONGEST_VARINT = 10


class WireField(NamedTuple):
    """A field's number and wire type, and the position of its content."""

    number: int
    form: int
    start: int
    end: int


def iter_fields(raw: bytes, start: int = 0, end: int | None = None) -> Iterator[WireField]:
    """Yield the fields of a message in order, with one item for each element of a repeated field.

    Raises:
        UnreadableContent: The bytes are not a sequence of fields.
    """
    at, end = start, len(raw) if end is None else end
    while at < end:
        tag, begins, at = next_field(raw, at, end)
        yield WireField(tag >> 3, tag & 7, begins, at)


def next_field(raw: bytes, at: int, end: int) -> tuple[int, int, int]:
    """Return the tag of the field at position `at`, and where its content begins and ends.

    A tag is a field's number times eight, plus its wire type. The field must end by `end`.

    Raises:
        UnreadableContent: There is no valid field.
    """
    # Fast path: most varints are one byte.
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
        raise UnreadableContent(WireReason.MALFORMED)
    if after > end or tag < 8:
        raise UnreadableContent(WireReason.MALFORMED)
    return tag, at, after


def count(raw: bytes, start: int, end: int, most: int) -> int:
    """Return the number of fields of a message; stop counting at `most` plus one.

    Raises:
        UnreadableContent: The bytes are not a sequence of fields.
    """
    at, found = start, 0
    while at < end and found <= most:
        _, _, at = next_field(raw, at, end)
        found += 1
    return found


def number_at(raw: bytes) -> int:
    """Return the number of the first field; 0 if there are no bytes.

    Raises:
        UnreadableContent: The bytes do not begin with a field.
    """
    return _varint(raw, 0, len(raw))[0] >> 3 if raw else 0


def _varint(raw: bytes, at: int, end: int) -> tuple[int, int]:
    """Return a varint's value, and the position after it."""
    value = shift = 0
    for place in range(at, min(at + LONGEST_VARINT, end)):
        byte = raw[place]
        if byte < 0x80:
            return value | byte << shift, place + 1
        value |= (byte & 0x7F) << shift
        shift += 7
    raise UnreadableContent(WireReason.MALFORMED)
