"""Frames: length, compression, and malformed bytes (p2p.md 2)."""

import pytest
from zstandard import ZstdCompressor, ZstdDecompressor

from network_app.wire import framing
from network_app.wire.errors import (
    MessageTooLarge,
    UnreadableContent,
    UnreadableMessage,
    WireError,
    WireReason,
)
from network_app.wire.framing import MAX_FRAME, PREFIX, decode, encode, frame_size, kind, unpack
from network_app.wire.p2p_pb2 import (
    Ancestors,
    Chits,
    Client,
    GetAncestors,
    Handshake,
    Message,
    Ping,
    Pong,
    Put,
)
from tests.builders.reasons import raises
from tests.builders.wire import KINDS, ZSTD_MAGIC, compress, repeated_zeros, wrap

PING = Message(ping=Ping(uptime=99))

PUT = bytes.fromhex("d201 ffffff7f")
"""The first bytes of a large put."""

COMPRESSED = {
    "get_peer_list", "peer_list", "state_summary_frontier", "get_accepted_state_summary",
    "accepted_state_summary", "ancestors", "put", "push_query", "app_request", "app_response",
    "app_error", "app_gossip", "simplex",
}  # fmt: skip
PLAIN = {
    "ping", "pong", "handshake", "get_state_summary_frontier", "get_accepted_frontier",
    "accepted_frontier", "get_accepted", "accepted", "get_ancestors", "get", "pull_query", "chits",
}  # fmt: skip


def empty(name: str) -> Message:
    message = Message()
    getattr(message, name).SetInParent()
    return message


def test_a_frame_is_a_length_and_a_message() -> None:
    frame = encode(PING)

    assert frame == bytes.fromhex("00000004 5a020863")
    assert frame_size(frame[:PREFIX]) == 4
    assert decode(frame[PREFIX:]) == PING
    assert kind(decode(frame[PREFIX:])) == "ping"


def test_message_kinds_are_compressed_or_not() -> None:
    assert set(KINDS) == COMPRESSED | PLAIN
    assert not COMPRESSED & PLAIN


@pytest.mark.parametrize("name", sorted(COMPRESSED))
def test_kinds_that_the_reference_compresses_are_compressed(name: str) -> None:
    message = empty(name)
    sent = Message.FromString(encode(message)[PREFIX:])

    assert kind(sent) == framing.COMPRESSED
    assert ZstdDecompressor().decompress(sent.compressed_zstd) == message.SerializeToString()
    assert decode(encode(message)[PREFIX:]) == message


@pytest.mark.parametrize("name", sorted(PLAIN))
def test_kinds_that_the_reference_does_not_compress_are_plain(name: str) -> None:
    message = empty(name)

    assert Message.FromString(encode(message)[PREFIX:]) == message


@pytest.mark.parametrize("name", sorted(KINDS))
def test_every_kind_is_read_in_either_form(name: str) -> None:
    message = empty(name)

    assert decode(message.SerializeToString()) == message
    assert decode(compress(message.SerializeToString())) == message


def test_message_size_is_that_before_compression() -> None:
    plain = Message(put=Put(container=bytes(100_000))).SerializeToString()
    frame = compress(plain)

    assert unpack(frame) == unpack(plain) == plain
    assert len(frame) < 100


@pytest.mark.parametrize(("prefix", "size"), [(b"\0\0\0\0", 0), (b"\x00\x20\x00\x00", MAX_FRAME)])
def test_a_frame_may_have_two_mebibytes(prefix: bytes, size: int) -> None:
    assert frame_size(prefix) == size


@pytest.mark.parametrize("size", [MAX_FRAME + 1, 2**32 - 1])
def test_a_frame_with_more_is_too_large(size: int) -> None:
    message = f"frame of {size} bytes exceeds the limit of 2097152"
    with raises(WireReason.FRAME_TOO_LARGE, kind=WireError, match=f"^{message}$"):
        frame_size(size.to_bytes(4, "big"))


def put_of(size: int) -> Message:
    """Return a message of `size` bytes."""
    around = len(Message(put=Put(container=bytes(2_000_000))).SerializeToString()) - 2_000_000
    message = Message(put=Put(container=bytes(size - around)))
    assert len(message.SerializeToString()) == size
    return message


def test_largest_message_round_trips() -> None:
    message = put_of(MAX_FRAME)

    assert decode(encode(message)[PREFIX:]) == message


def test_a_larger_message_is_not_sent_though_it_could_be_compressed() -> None:
    with raises(
        WireReason.MESSAGE_TOO_LARGE,
        kind=MessageTooLarge,
        match=r"^put of 2097153 bytes exceeds the limit of 2097152$",
    ):
        encode(put_of(MAX_FRAME + 1))


def test_a_message_that_compression_makes_too_large_is_not_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(framing, "MAX_FRAME", 20)
    with raises(
        WireReason.MESSAGE_TOO_LARGE,
        kind=MessageTooLarge,
        match=r"^put of \d+ bytes exceeds the limit of 20$",
    ):
        encode(Message(put=Put(container=b"no repetition")))


def test_message_without_kind_is_not_encoded() -> None:
    with raises(WireReason.NO_KIND, kind=UnreadableMessage, match=r"^message of no known kind$"):
        encode(Message())


def test_last_of_duplicate_fields_counts() -> None:
    both = PING.SerializeToString() + Message(pong=Pong()).SerializeToString()

    assert decode(both) == Message(pong=Pong())


def test_unknown_fields_are_passed_over() -> None:
    later = PING.SerializeToString()[2:] + bytes.fromhex("7801")
    payload = b"\x5a" + bytes([len(later)]) + later

    assert decode(payload).ping.uptime == 99


@pytest.mark.parametrize(
    "payload",
    [b"", bytes.fromhex("8a0200"), bytes.fromhex("0a00"), bytes.fromhex("aa0200"), compress(b"")],
    ids=["nothing", "number 33", "gzip", "number 37", "nothing compressed"],
)
def test_a_message_of_no_known_kind_is_unreadable(payload: bytes) -> None:
    with raises(WireReason.NO_KIND, kind=UnreadableMessage, match=r"^message of no known kind$"):
        decode(payload)


@pytest.mark.parametrize(
    "payload",
    [
        b"\xff",
        PING.SerializeToString()[:-1],
        b"\x5a\xff\xff\xff\xff\x0f",
        compress(b"\xff"),
        Message(
            handshake=Handshake(client=Client(name="name"))
        ).SerializeToString().replace(b"name", b"\xff" * 4),
    ],
    ids=["half a tag", "cut off", "long", "compressed", "no text"],
)  # fmt: skip
def test_malformed_protobuf_is_refused(payload: bytes) -> None:
    with raises(WireReason.MALFORMED, kind=UnreadableContent, match=r"^malformed message$"):
        decode(payload)


def test_field_of_another_wire_type_is_unknown() -> None:
    # field 3 of Chits as a number
    payload = bytes.fromhex("ea01 02 1805")

    assert decode(payload).chits.preferred_id == Chits().preferred_id


@pytest.mark.parametrize(
    "packed",
    [
        b"no zstd at all",
        ZSTD_MAGIC + b"\x08\x00",
        ZstdCompressor().compress(PUT) + b"and more",
        repeated_zeros(100, blocks=1, header=b"\xe0" + b"\xff" * 8),
        repeated_zeros(100, blocks=1, header=b"\x00\x70"),
        ZstdCompressor().compress(PUT) + repeated_zeros(100, blocks=2, header=b"\x20\x64"),
    ],
    ids=["other", "reserved bit", "more after it", "2**64 bytes", "window", "too many"],
)
def test_malformed_zstd_is_refused(packed: bytes) -> None:
    with raises(
        WireReason.MALFORMED_COMPRESSION, kind=UnreadableContent, match=r"^malformed zstd$"
    ):
        decode(wrap(packed))


@pytest.mark.parametrize("cut", range(1, 20))
def test_compressed_messages_that_are_cut_off_are_unreadable(cut: int) -> None:
    packed = ZstdCompressor().compress(
        Message(handshake=Handshake(ip_node_id_sig=bytes(range(200)))).SerializeToString()
    )
    with pytest.raises(UnreadableMessage):
        decode(wrap(packed[:-cut]))


def test_content_that_its_header_does_not_measure_is_read() -> None:
    writer = ZstdCompressor().compressobj()
    packed = writer.compress(PING.SerializeToString()) + writer.flush()

    assert decode(wrap(packed)) == PING


def test_content_of_several_zstd_frames_is_one_message() -> None:
    plain = PING.SerializeToString()
    parts = [ZstdCompressor().compress(plain[:1]), ZstdCompressor().compress(plain[1:])]

    assert decode(wrap(b"".join(parts))) == PING


@pytest.mark.parametrize(
    "packed",
    [
        ZstdCompressor(level=3).compress(put_of(MAX_FRAME).SerializeToString() + bytes(1)),
        # blocks of the largest size in the largest window: a gigabyte out of 32 KiB
        ZstdCompressor().compress(PUT) + repeated_zeros(131_072, blocks=8192, header=b"\x00\x68"),
    ],
    ids=["one byte", "bomb"],
)
def test_compressed_message_above_the_frame_size_is_refused(packed: bytes) -> None:
    with raises(
        WireReason.TOO_LARGE_FOR_KIND,
        kind=UnreadableContent,
        match=r"^put exceeds the limit of 2097152 bytes$",
    ):
        decode(wrap(packed))


def test_a_message_compressed_twice_is_unreadable() -> None:
    with raises(
        WireReason.COMPRESSED_TWICE, kind=UnreadableContent, match=r"^message is compressed twice$"
    ):
        decode(compress(compress(PING.SerializeToString())))


def test_every_failure_is_the_wire_s() -> None:
    for error in (MessageTooLarge, UnreadableMessage):
        assert error.__bases__ == (WireError,)
    assert UnreadableContent.__bases__ == (UnreadableMessage,)


def test_containers_keep_their_order() -> None:
    message = Message(ancestors=Ancestors(containers=[b"child", b"parent", b""]))

    assert list(decode(encode(message)[PREFIX:]).ancestors.containers) == [b"child", b"parent", b""]


def test_an_engine_type_without_a_name_is_kept() -> None:
    message = Message(get_ancestors=GetAncestors(engine_type=7))  # type: ignore[arg-type]

    assert decode(encode(message)[PREFIX:]).get_ancestors.engine_type == 7
