"""Frames: a length of four bytes, then a message, some kinds of them compressed (p2p.md 2).

Sockets, and what becomes of a connection after an error, are in `network_app.peers`.
"""

from typing import NamedTuple

from google.protobuf.message import DecodeError
from zstandard import ZstdCompressor, ZstdDecompressor, ZstdError

from network_app.wire.errors import (
    CompressedTwice,
    DecompressedTooLarge,
    FrameTooLarge,
    MalformedCompression,
    MalformedMessage,
    MessageTooLarge,
    NoKind,
)
from network_app.wire.p2p_pb2 import Message

PREFIX = 4
"""Bytes of a frame's length, which is big-endian."""
MAX_FRAME = 2_097_152
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


class Received(NamedTuple):
    """A message that came, and what it was to read."""

    message: Message
    size: int
    """Bytes of it, decompressed. 200 bytes of a frame can hold 2 MiB of work: count these."""


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


def frame_size(prefix: bytes) -> int:
    """Return how many bytes follow a frame's first four.

    Raises:
        FrameTooLarge: More than are read.
    """
    size = int.from_bytes(prefix, "big")
    if size > MAX_FRAME:
        raise FrameTooLarge(size, MAX_FRAME)
    return size


def decode(payload: bytes) -> Message:
    """Read the message of a frame, without the frame's length.

    Raises:
        UnreadableMessage: It holds none.
    """
    return receive(payload).message


def receive(payload: bytes) -> Received:
    """Read the message of a frame as `decode` does, and say how large it was.

    Raises:
        UnreadableMessage: It holds none.
    """
    message = _parse(payload)
    if kind(message) != COMPRESSED:
        return Received(message, len(payload))
    content = _decompress(message.compressed_zstd)
    unpacked = _parse(content)
    if kind(unpacked) == COMPRESSED:
        raise CompressedTwice
    return Received(unpacked, len(content))


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


def _parse(payload: bytes) -> Message:
    try:
        return Message.FromString(payload)
    except DecodeError:
        raise MalformedMessage from None


def _decompress(packed: bytes) -> bytes:
    """Return what is in a zstd frame, whose header is not believed."""
    # A stream gives no more than it is asked for. One that is cut off ends early and quietly, and
    # then so does the message in it.
    stream = ZstdDecompressor(max_window_size=MAX_WINDOW).stream_reader(
        packed, read_across_frames=True
    )
    try:
        unpacked = stream.read(MAX_FRAME + 1)
    except ZstdError:
        raise MalformedCompression from None
    if len(unpacked) > MAX_FRAME:
        raise DecompressedTooLarge(MAX_FRAME)
    return unpacked
