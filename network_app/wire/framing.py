"""Frames: a length of four bytes, then a message, some kinds of them compressed (p2p.md 2).

Sockets, and what becomes of a connection after an error, are in `network_app.peers`.
"""

from typing import NamedTuple

from google.protobuf.message import DecodeError
from zstandard import ZstdCompressor, ZstdDecompressor, ZstdError

from network_app.wire import fields
from network_app.wire.errors import (
    CompressedTwice,
    FrameTooLarge,
    MalformedCompression,
    MalformedMessage,
    MessageTooLarge,
    NoKind,
    TooEarly,
    TooLargeForKind,
    TooManyFields,
)
from network_app.wire.limits import EARLY_KINDS, EARLY_SIZE, LARGEST, LIMITS
from network_app.wire.p2p_pb2 import Message

PREFIX = 4
"""Bytes of a frame's length, which is big-endian."""
MAX_FRAME = LARGEST
"""Bytes of a frame without its length, and of a message before it is compressed."""
LEVEL = 3
"""How hard zstd tries."""
MAX_WINDOW = 8 * 1024 * 1024
"""Bytes that zstd may keep to look back: what RFC 8878 wants of every decoder. Its own limit is 128 MiB."""

COMPRESSED = "compressed_zstd"
COMPRESSED_KINDS = frozenset({
    "get_peer_list", "peer_list",
    "state_summary_frontier", "get_accepted_state_summary", "accepted_state_summary",
    "ancestors", "put", "push_query",
    "app_request", "app_response", "app_error", "app_gossip",
    "simplex",
})  # fmt: skip
"""What is sent compressed. Every kind is read in either form."""


KINDS = {field.number: field.name for field in Message.DESCRIPTOR.fields}
KINDS_BY_TAG = {number << 3 | fields.DELIMITED: name for number, name in KINDS.items()}
MOST_PARTS = 8
"""Fields of `Message` itself: one, and room for what later protocols may add beside it."""
HEAD = 16
"""Bytes at the beginning of a decompressed message, which tell its kind."""


class Part(NamedTuple):
    """A field of `Message` that is known here, and where its content is."""

    kind: str
    start: int
    end: int


def encode(message: Message) -> bytes:
    """Return a message's whole frame.

    Raises:
        MessageTooLarge: No peer would read it.
        NoKind: The message is empty.
    """
    name = kind(message)
    payload = message.SerializeToString()
    _check_size(name, payload)
    if name in COMPRESSED_KINDS:
        # A compressor of its own for each: they are not to be shared by threads, and cost 6 µs.
        packed = ZstdCompressor(level=LEVEL).compress(payload)
        payload = Message(compressed_zstd=packed).SerializeToString()
        _check_size(name, payload)
    return len(payload).to_bytes(PREFIX, "big") + payload


def frame_size(prefix: bytes, *, early: bool = False) -> int:
    """Return how many bytes follow a frame's first four.

    Raises:
        FrameTooLarge: More than are read; `early`: before the handshake is finished.
    """
    size = int.from_bytes(prefix, "big")
    limit = EARLY_SIZE if early else MAX_FRAME
    if size > limit:
        raise FrameTooLarge(size, limit)
    return size


def decode(payload: bytes) -> Message:
    """Read the message of a frame, without the frame's length.

    Raises:
        UnreadableMessage: It holds none.
    """
    return parse(unpack(payload))


def unpack(payload: bytes, *, early: bool = False) -> bytes:
    """Return the bytes of a frame's message: decompressed, and within the limits of its kind.

    It costs little whatever is in it; `parse` then makes no more objects than the limits say.

    Raises:
        UnreadableMessage: It holds no message, or none that is read; `early`: that is read before
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
    """Make the message of what `unpack` returned.

    Raises:
        MalformedMessage: It is no protobuf.
    """
    try:
        return Message.FromString(content)
    except DecodeError:
        raise MalformedMessage from None


def kind(message: Message) -> str:
    """Return which message it is, by the name of its field: "ping", "peer_list" and so on.

    Raises:
        NoKind: None that is known here.
    """
    name: str | None = message.WhichOneof("message")
    if name is None:
        raise NoKind
    return name


def _check_size(name: str, payload: bytes) -> None:
    if len(payload) > MAX_FRAME:
        raise MessageTooLarge(name, len(payload), MAX_FRAME)


def _parts(raw: bytes) -> list[Part]:
    """Return the known fields of a message's bytes; of several, the last one is the message."""
    parts: list[Part] = []
    at, end, found = 0, len(raw), 0
    while at < end:
        tag, start, at = fields.next_field(raw, at, end)
        found += 1
        if found > MOST_PARTS:
            raise TooManyFields("message", MOST_PARTS)
        name = KINDS_BY_TAG.get(tag)
        if name is not None:
            parts.append(Part(name, start, at))
    if not parts:
        raise NoKind
    return parts


def _check(content: bytes, parts: list[Part], *, early: bool) -> None:
    """Hold a message, with all that it overwrites, against the limits."""
    for part in parts:
        if part.kind == COMPRESSED:
            raise CompressedTwice
        limit = _most_bytes(part.kind, early=early)
        if len(content) > limit:
            raise TooLargeForKind(part.kind, limit)
        most = LIMITS[part.kind].fields
        if fields.count(content, part.start, part.end, most) > most:
            raise TooManyFields(part.kind, most)


def _most_bytes(name: str, *, early: bool = False) -> int:
    """Return how large a message of a kind may be, decompressed.

    Raises:
        TooEarly: It is not read before the handshake is finished.
    """
    if early and name not in EARLY_KINDS:
        raise TooEarly(name)
    size = LIMITS[name].size
    return min(size, EARLY_SIZE) if early else size


def _decompress(packed: bytes, *, early: bool) -> bytes:
    """Return what is in a zstd frame, whose header is not believed: as much as its kind may have."""
    # A stream gives no more than it is asked for. One that is cut off ends early and quietly, and
    # then so does the message in it.
    stream = ZstdDecompressor(max_window_size=MAX_WINDOW).stream_reader(
        packed, read_across_frames=True
    )
    try:
        head = stream.read(HEAD)
        name = _first_kind(head)
        most = _most_bytes(name, early=early)
        content = head + stream.read(most + 1 - len(head))
    except ZstdError:
        raise MalformedCompression from None
    if len(content) > most:
        raise TooLargeForKind(name, most)
    return content


def _first_kind(head: bytes) -> str:
    """Return the kind of a message that begins like this. Nothing stands before it, or it is unknown."""
    number = fields.number_at(head)
    if number not in KINDS:
        raise NoKind
    if KINDS[number] == COMPRESSED:
        raise CompressedTwice
    return KINDS[number]


class Packed(NamedTuple):
    """A whole frame, and which message is in it."""

    kind: str
    frame: bytes


def pack(message: Message) -> Packed:
    """Return a message with its frame.

    Raises:
        MessageTooLarge: No peer would read it.
        NoKind: The message is empty.
    """
    return Packed(kind(message), encode(message))
