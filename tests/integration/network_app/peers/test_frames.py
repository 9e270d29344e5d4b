"""Frames with messages, frames without messages, and frames that end the connection."""

import random

import pytest

from network_app.wire import framing
from network_app.wire.p2p_pb2 import Message, Put
from tests.builders.nodes import node
from tests.builders.peers import eventually, frontier_request, running, stranger
from tests.builders.wire import compress, repeated_zeros, wrap

pytestmark = pytest.mark.sqlite_only


def framed(payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "big") + payload


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\xff\xff\xff",
        bytes([0x1A, 0x02, 0x08, 0x01]),  # field 3, which does not exist
        wrap(b"no zstd"),
        compress(compress(frontier_request().SerializeToString())),
        compress(bytes(framing.MAX_FRAME + 1)),
    ],
    ids=["empty", "no protobuf", "unknown", "no zstd", "compressed twice", "too large inside"],
)
async def test_a_frame_that_holds_no_message_is_skipped(payload: bytes) -> None:
    async with running(node(0)) as one, stranger(one.address) as peer:
        await peer.finish_handshake()
        peer.writer.write(framed(payload))
        peer.send(frontier_request())

        await eventually(lambda: one.recorder.messages)
        assert one.recorder.messages == [(peer.node_id, frontier_request())]
        assert one.network.counters.received.messages["unreadable"] == 1


@pytest.mark.parametrize("size", [framing.MAX_FRAME + 1, 2**32 - 1])
async def test_a_frame_that_is_announced_too_large_ends_the_connection(size: int) -> None:
    async with running(node(0)) as one, stranger(one.address) as peer:
        await peer.finish_handshake()
        peer.writer.write(size.to_bytes(4, "big"))

        assert await peer.ended()
        await eventually(lambda: one.ended["FrameTooLarge"] == 1)


async def test_compressed_messages_of_any_kind_are_read() -> None:
    async with running(node(0)) as one, stranger(one.address) as peer:
        await peer.finish_handshake()
        peer.writer.write(framed(compress(frontier_request().SerializeToString())))

        await eventually(lambda: one.recorder.messages == [(peer.node_id, frontier_request())])


async def test_largest_messages_pass_in_both_directions() -> None:
    noise = random.Random(2).randbytes(framing.MAX_FRAME - 1000)
    large = Message(put=Put(chain_id=bytes(32), request_id=1, container=noise))
    async with running(node(0)) as one, running(node(1), tracked=(one.address,)) as two:
        await eventually(lambda: one.knows(two) and two.knows(one))

        assert one.network.send(two.node_id, large)
        assert two.network.send(one.node_id, large)

        await eventually(lambda: one.recorder.messages and two.recorder.messages)
        assert one.recorder.messages == [(two.node_id, large)]
        assert two.recorder.messages == [(one.node_id, large)]


async def test_frames_in_pieces_are_reassembled() -> None:
    async with running(node(0)) as one, stranger(one.address) as peer:
        await peer.finish_handshake()
        for number in range(3):
            for byte in framing.encode(frontier_request(number)):
                peer.writer.write(bytes([byte]))
                await peer.writer.drain()

        await eventually(lambda: len(one.recorder.messages) == 3)


async def test_decompressed_size_is_limited_by_the_byte_pool() -> None:
    """Some hundred bytes that expand to 2 MiB each: only as many are decompressed as the pool has capacity for."""
    zeros = repeated_zeros(128 * 1024, blocks=15, header=b"\x00\x58")
    content = Message(put=Put(chain_id=bytes(32), container=bytes(1_900_000)))
    bomb = framed(compress(content.SerializeToString()))
    assert len(bomb) < 1000
    assert len(zeros) < 100
    async with (
        running(node(0), shared_pool=3 << 20, peer_burst=1 << 30, strangers_rate=1 << 30) as one,
        stranger(one.address) as peer,
        stranger(one.address, node(98)) as second,
        stranger(one.address, node(97)) as third,
    ):
        one.recorder.release.clear()
        strangers = (peer, second, third)
        for other in strangers:
            await other.finish_handshake()
            for _ in range(20):
                other.writer.write(bomb)
        await eventually(lambda: one.pool.waiting == 3)
        assert one.in_work < 8 << 20
        assert one.recorder.began <= 4

        one.recorder.release.set()

        await eventually(lambda: len(one.recorder.messages) == 60)
        await eventually(lambda: one.in_work == one.pool.waiting == 0)
