"""All bytes from a peer give a message or one of the wire's errors, with bounded memory."""

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from network_app.wire.errors import UnreadableMessage, WireError
from network_app.wire.fields import LIMITS
from network_app.wire.framing import (
    MAX_FRAME,
    PREFIX,
    decode,
    encode,
    frame_size,
    kind,
    parse,
    unpack,
)
from network_app.wire.p2p_pb2 import Message
from tests.builders.wire import KINDS, ZSTD_MAGIC, any_message, compress, wrap


@given(any_message())
def test_message_round_trips_through_its_frame(message: Message) -> None:
    frame = encode(message)

    assert frame_size(frame[:PREFIX]) == len(frame) - PREFIX
    assert decode(frame[PREFIX:]) == message


@given(st.binary(min_size=4, max_size=4))
def test_a_length_is_accepted_or_too_large(prefix: bytes) -> None:
    with suppress(WireError):
        assert frame_size(prefix) <= MAX_FRAME


def read(payload: bytes) -> None:
    """Decode bytes that may not be a message."""
    with suppress(UnreadableMessage):
        content = unpack(payload)
        message = parse(content)
        assert kind(message) in KINDS
        assert len(content) <= LIMITS[kind(message)].size


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(payload: bytes) -> None:
    read(payload)
    read(wrap(payload))
    read(wrap(ZSTD_MAGIC + payload))
    read(compress(payload))
    read(compress(wrap(payload)))


@given(any_message(), st.data())
def test_changed_messages_are_read_or_refused(message: Message, data: st.DataObject) -> None:
    plain = bytearray(message.SerializeToString())
    place = data.draw(st.integers(0, len(plain) - 1))
    plain[place] = data.draw(st.integers(0, 255))
    read(bytes(plain))
    read(compress(bytes(plain)))

    frame = bytearray(encode(message)[PREFIX:])
    place = data.draw(st.integers(0, len(frame) - 1))
    frame[place] = data.draw(st.integers(0, 255))
    read(bytes(frame))
    read(bytes(frame[:place]))


@given(any_message(), any_message())
def test_messages_after_each_other_are_read_or_refused(first: Message, second: Message) -> None:
    read(first.SerializeToString() + second.SerializeToString())
    read(compress(first.SerializeToString()) + second.SerializeToString())
