"""Frames: a four-byte length, then a message, compressed for some kinds (p2p.md 2).

`network_app.peers` contains the sockets and the handling of errors.
"""

from typing import NamedTuple

from google.protobuf.message import DecodeError
from zstandard import ZstdCompressor, ZstdDecompressor, ZstdError

from network_app.wire import fields
from network_app.wire.errors import (
    MessageTooLarge,
    UnreadableContent,
    UnreadableMessage,
    WireError,
    WireReason,
)
from network_app.wire.fields import EARLY_KINDS, EARLY_SIZE, LARGEST, LIMITS
from network_app.wire.p2p_pb2 import Message

PREFIX = 4
"""Size of the length prefix of a frame in bytes; it is big-endian."""
MAX_FRAME = LARGEST
"""Maximum bytes of a frame without its length prefix, and of a message before compression."""
LEVEL = 3
"""Compression level of zstd."""
MAX_WINDOW = 8 * 1024 * 1024
"""Maximum window of zstd in bytes, which RFC 8878 requires of every decoder; zstd's own limit is 128 MiB."""

COMPRESSED = "compressed_zstd"
COMPRESSED_KINDS = frozenset({
    "get_peer_list", "peer_list",
    "state_summary_frontier", "get_accepted_state_summary", "accepted_state_summary",
    "ancestors", "put", "push_query",
    "app_request", "app_response", "app_error", "app_gossip",
    "simplex",
})  # fmt: skip
"""Kinds of messages that are sent compressed. Received messages may be compressed or not."""


KINDS = {field.number: field.name for field in Message.DESCRIPTOR.fields}
KINDS_BY_TAG = {number << 3 | fields.DELIMITED: name for number, name in KINDS.items()}
MAX_PARTS = 8
"""Maximum number of fields of `Message` itself: one, and spare ones for later protocol versions."""
HEAD = 16
"""Number of bytes at the start of a decompressed message that suffice to determine its kind."""


class Part(NamedTuple):
    """A known field of `Message`, and the position of its content."""

    kind: str
    start: int
    end: int


def encode(message: Message) -> bytes:
    """Return the complete frame of a message.

    Raises:
        MessageTooLarge: It exceeds the limit of peers.
        UnreadableMessage: The message is empty.
    """
    name = kind(message)
    payload = message.SerializeToString()
    _check_size(name, payload)
    if name in COMPRESSED_KINDS:
        # A new compressor for each message, because compressors are not thread-safe; it costs 6 µs.
        packed = ZstdCompressor(level=LEVEL).compress(payload)
        payload = Message(compressed_zstd=packed).SerializeToString()
        _check_size(name, payload)
    return len(payload).to_bytes(PREFIX, "big") + payload


def frame_size(prefix: bytes, *, early: bool = False) -> int:
    """Return the length of a frame from its first four bytes.

    Raises:
        WireError: It exceeds the limit; `early`: the limit before the handshake is finished.
    """
    size = int.from_bytes(prefix, "big")
    limit = EARLY_SIZE if early else MAX_FRAME
    if size > limit:
        raise WireError(WireReason.FRAME_TOO_LARGE, size=size, limit=limit)
    return size


def decode(payload: bytes) -> Message:
    """Decode the message of a frame without its length prefix.

    Raises:
        UnreadableMessage: There is no valid message.
    """
    return parse(unpack(payload))


def unpack(payload: bytes, *, early: bool = False) -> bytes:
    """Return the bytes of a frame's message: decompressed, and within the limits of its kind.

    The cost is small for any content; `parse` then creates only as many objects as the limits allow.

    Raises:
        UnreadableMessage: There is no valid message, or it is not accepted; `early`: not accepted before
            the handshake is finished.
    """
    parts = _parts(payload)
    if parts[-1].kind != COMPRESSED:
        _check(payload, parts, early=early)
        return payload
    content = _decompress(payload[parts[-1].start : parts[-1].end], early=early)
    _check(content, _parts(content), early=early)
    return content


def parse(content: bytes) -> Message:
    """Decode the message from the result of `unpack`.

    Raises:
        UnreadableContent: It is not valid protobuf.
    """
    try:
        return Message.FromString(content)
    except DecodeError:
        raise UnreadableContent(WireReason.MALFORMED) from None


def kind(message: Message) -> str:
    """Return the kind of a message by the name of its field: "ping", "peer_list" and so on.

    Raises:
        UnreadableMessage: The kind is unknown here.
    """
    name: str | None = message.WhichOneof("message")
    if name is None:
        raise UnreadableMessage(WireReason.NO_KIND)
    return name


def _check_size(name: str, payload: bytes) -> None:
    if len(payload) > MAX_FRAME:
        raise MessageTooLarge(
            WireReason.MESSAGE_TOO_LARGE, kind=name, size=len(payload), limit=MAX_FRAME
        )


def _parts(raw: bytes) -> list[Part]:
    """Return the known fields of a message's bytes; if there are several, the last one is the message."""
    parts: list[Part] = []
    at, end, found = 0, len(raw), 0
    while at < end:
        tag, start, at = fields.next_field(raw, at, end)
        found += 1
        if found > MAX_PARTS:
            raise UnreadableContent(WireReason.TOO_MANY_FIELDS, kind="message", limit=MAX_PARTS)
        name = KINDS_BY_TAG.get(tag)
        if name is not None:
            parts.append(Part(name, start, at))
    if not parts:
        raise UnreadableMessage(WireReason.NO_KIND)
    return parts


def _check(content: bytes, parts: list[Part], *, early: bool) -> None:
    """Check the limits for all known fields, including those that a later field overwrites."""
    for part in parts:
        if part.kind == COMPRESSED:
            raise UnreadableContent(WireReason.COMPRESSED_TWICE)
        limit = _most_bytes(part.kind, early=early)
        if len(content) > limit:
            raise UnreadableContent(WireReason.TOO_LARGE_FOR_KIND, kind=part.kind, limit=limit)
        most = LIMITS[part.kind].fields
        if fields.count(content, part.start, part.end, most) > most:
            raise UnreadableContent(WireReason.TOO_MANY_FIELDS, kind=part.kind, limit=most)


def _most_bytes(name: str, *, early: bool = False) -> int:
    """Return the maximum size of a message of this kind, decompressed.

    Raises:
        UnreadableMessage: The kind is not accepted before the handshake is finished.
    """
    if early and name not in EARLY_KINDS:
        raise UnreadableMessage(WireReason.TOO_EARLY, kind=name)
    size = LIMITS[name].size
    return min(size, EARLY_SIZE) if early else size


def _decompress(packed: bytes, *, early: bool) -> bytes:
    """Decompress a zstd frame up to the limit of its kind, without trusting the size in its header."""
    # A stream returns at most the requested bytes. A truncated frame ends without an error, and the
    # message in it is then truncated too.
    stream = ZstdDecompressor(max_window_size=MAX_WINDOW).stream_reader(
        packed, read_across_frames=True
    )
    try:
        head = stream.read(HEAD)
        name = _first_kind(head)
        most = _most_bytes(name, early=early)
        content = head + stream.read(most + 1 - len(head))
    except ZstdError:
        raise UnreadableContent(WireReason.MALFORMED_COMPRESSION) from None
    if len(content) > most:
        raise UnreadableContent(WireReason.TOO_LARGE_FOR_KIND, kind=name, limit=most)
    return content


def _first_kind(head: bytes) -> str:
    """Return the kind of a message from its first bytes, which must belong to a known field."""
    number = fields.number_at(head)
    if number not in KINDS:
        raise UnreadableMessage(WireReason.NO_KIND)
    if KINDS[number] == COMPRESSED:
        raise UnreadableContent(WireReason.COMPRESSED_TWICE)
    return KINDS[number]


class PackedMessage(NamedTuple):
    """A complete frame, and the kind of its message."""

    kind: str
    frame: bytes


def pack(message: Message) -> PackedMessage:
    """Return the frame and the kind of a message.

    Raises:
        MessageTooLarge: It exceeds the limit of peers.
        UnreadableMessage: The message is empty.
    """
    return PackedMessage(kind(message), encode(message))
