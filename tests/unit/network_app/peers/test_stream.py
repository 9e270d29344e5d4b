"""Two ends of a connection in memory: reading, buffered data, and the end."""

import asyncio
from dataclasses import replace
from typing import Any, cast

import pytest
from OpenSSL import SSL

from network_app.config import NetworkConfig
from network_app.peers import tls
from network_app.peers.errors import PeerError, PeerReason
from network_app.peers.stream import CHUNK, PROGRESS, Stream
from tests.builders.nodes import node
from tests.builders.reasons import raises

CONFIG = NetworkConfig(network_id=1)


class Wire(asyncio.Transport):
    """A transport that keeps written data until the test carries it to the other end."""

    def __init__(self, address: tuple[str, int]) -> None:
        super().__init__({"peername": address})
        self.written = bytearray()
        self.owner: Stream
        self.other: Stream
        self.reads = True
        self.ended = ""
        self.blocked = False
        self.high = 0

    def write(self, data: Any) -> None:
        self.written += data
        if len(self.written) > self.high and not self.blocked:
            self.blocked = True
            self.owner.pause_writing()

    def carry(self) -> None:
        """Deliver written data to the other end in chunks."""
        data, self.written = bytes(self.written), bytearray()
        for start in range(0, len(data), CHUNK):
            piece = data[start : start + CHUNK]
            self.other.get_buffer(-1)[: len(piece)] = piece
            self.other.buffer_updated(len(piece))
        if self.blocked:
            self.blocked = False
            self.owner.resume_writing()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self.high = high or 0

    def get_write_buffer_size(self) -> int:
        return len(self.written)

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True

    def is_closing(self) -> bool:
        return bool(self.ended)

    def close(self) -> None:
        self.ended = self.ended or "closed"

    def abort(self) -> None:
        self.ended = self.ended or "aborted"


class Ends:
    """Both ends of a connection, and the transports between them."""

    def __init__(self, config: NetworkConfig = CONFIG) -> None:
        dialling, accepting = (tls.make_context(node(number).identity) for number in (0, 1))
        self.one = Stream(lambda: tls.dialling(dialling), config, bytearray(CHUNK))
        self.two = Stream(lambda: tls.accepting(accepting), config, bytearray(CHUNK))
        self.there, self.back = Wire(("192.0.2.1", 9651)), Wire(("2001:db8::1", 1, 0, 0))  # type: ignore[arg-type]
        self.there.owner = self.back.other = self.one
        self.there.other = self.back.owner = self.two
        self.one.connection_made(self.there)
        self.two.connection_made(self.back)

    async def carry_until(self, *tasks: "asyncio.Task[Any]") -> None:
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0)
            self.there.carry()
            self.back.carry()

    async def secured(self) -> "Ends":
        tasks = [asyncio.create_task(end.secure()) for end in (self.one, self.two)]
        await self.carry_until(*tasks)
        shown = [task.result() for task in tasks]
        assert shown == [node(1).identity.certificate_der, node(0).identity.certificate_der]
        return self


async def a_turn() -> None:
    """Let the loop send the data written in this turn."""
    await asyncio.sleep(0)


async def test_frames_of_one_turn_are_sent_together() -> None:
    ends = await Ends().secured()
    ends.there.carry()
    for frame in (b"one", b"two"):
        assert ends.one.write(frame)
    assert not ends.there.written
    assert ends.one.unsent == 6

    await a_turn()
    assert ends.there.written.count(b"\x17\x03\x03") == 1  # the header of a TLS record
    ends.there.carry()

    assert await ends.two.read(6) == b"onetwo"


async def test_bytes_written_before_close_are_sent() -> None:
    ends = await Ends().secured()
    ends.one.write(b"last")

    assert ends.one.close() == 0
    ends.there.carry()

    assert await ends.two.read(4) == b"last"


async def test_each_end_is_shown_the_other_s_certificate_and_address() -> None:
    ends = await Ends().secured()

    assert ends.one.address == "192.0.2.1:9651"
    assert ends.two.address == "[2001:db8::1]:1"


async def test_reads_of_any_size_return_bytes_in_order() -> None:
    ends = await Ends().secured()
    for frame in (b"one", bytes(100_000), b"two"):
        assert ends.one.write(frame)
    await a_turn()
    ends.there.carry()

    assert await ends.two.read(2) == b"on"
    assert await ends.two.read(0) == b""
    assert await ends.two.read(100_002) == b"e" + bytes(100_000) + b"t"
    assert await ends.two.read(2) == b"wo"


async def test_socket_is_paused_without_a_reader() -> None:
    ends = await Ends().secured()
    ends.one.write(b"early")
    await a_turn()
    ends.there.carry()
    assert not ends.back.reads

    assert await ends.two.read(5) == b"early"
    reading = asyncio.create_task(ends.two.read(4))
    await asyncio.sleep(0)
    assert ends.back.reads
    ends.one.write(b"late")
    await ends.carry_until(reading)

    assert reading.result() == b"late"


async def test_unsent_bytes_are_queued_in_order_and_counted() -> None:
    ends = await Ends(replace(CONFIG, send_queue=1_000_000)).secured()
    ends.there.high = 0
    assert ends.one.write(b"a")
    await a_turn()
    assert ends.one.blocked_since is not None

    assert ends.one.write(bytes(400_000))
    assert ends.one.write(bytes(500_000))
    assert not ends.one.write(bytes(200_000))
    assert ends.one.write(b"b")
    assert 900_000 < ends.one.unsent < 1_000_000

    while ends.one.unsent:
        ends.there.carry()
    assert ends.one.blocked_since is None
    came = await ends.two.read(900_002)
    assert came[:1] + came[-1:] == b"ab"


class Clock:
    """The loop's time, as far as a stream uses it."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def time(self) -> float:
        return self.seconds


async def test_slow_progress_updates_blocked_since() -> None:
    ends = await Ends().secured()
    ends.one._loop = clock = cast(Any, Clock())
    ends.there.high = 0
    ends.one.write(bytes(900_000))  # blocks after its first bytes
    assert ends.one.blocked_since == 0.0

    clock.seconds = 5.0
    del ends.there.written[:PROGRESS]
    assert ends.one.blocked_since == 5.0

    clock.seconds = 9.0
    del ends.there.written[: PROGRESS - 1]
    assert ends.one.blocked_since == 5.0
    del ends.there.written[:1]
    assert ends.one.blocked_since == 9.0


async def test_end_of_connection_is_reported_after_the_last_bytes() -> None:
    ends = await Ends().secured()
    ends.one.write(b"last")
    await a_turn()
    ends.there.carry()
    ends.two.connection_lost(None)

    assert await ends.two.read(4) == b"last"
    with raises(PeerReason.CONNECTION_LOST, kind=PeerError, match=r"^connection lost$"):
        await ends.two.read(1)
    assert ends.two.closed.is_set()


async def test_end_of_connection_fails_a_waiting_read() -> None:
    ends = await Ends().secured()
    reading = asyncio.create_task(ends.two.read(1))
    await asyncio.sleep(0)

    ends.two.connection_lost(ConnectionResetError())

    with raises(PeerReason.CONNECTION_LOST, kind=PeerError):
        await reading


async def test_a_goodbye_is_the_end_too() -> None:
    ends = await Ends().secured()

    assert ends.one.close() == 0
    assert ends.there.ended == "aborted"  # its last data has not been sent yet
    ends.there.carry()

    with raises(PeerReason.CONNECTION_LOST, kind=PeerError):
        await ends.two.read(1)
    assert not ends.one.write(b"more")
    assert ends.one.close() == 0


async def test_frames_that_wait_at_the_end_are_lost_and_counted() -> None:
    ends = await Ends().secured()
    ends.there.high = 0
    for frame in (b"a", b"b", b"c"):
        ends.one.write(frame)
        await a_turn()

    assert ends.one.close() == 2
    assert ends.there.ended == "aborted"
    assert ends.one.unsent == len(ends.there.written)


async def test_half_closed_connection_is_aborted() -> None:
    ends = await Ends().secured()

    ends.two.eof_received()

    assert ends.back.ended == "aborted"


async def test_bytes_that_are_not_tls_fail_the_stream() -> None:
    ends = await Ends().secured()
    ends.there.write(b"\x17\x03\x03\x00\x20" + bytes(32))
    ends.there.carry()

    with raises(PeerReason.TLS_FAILED, kind=PeerError, match=r"^TLS failed: .*bad record mac"):
        await ends.two.read(1)


async def test_a_connection_that_tls_gave_up_takes_no_frame() -> None:
    ends = await Ends().secured()
    ends.one._tls.shutdown()

    ends.one.write(b"late")
    await a_turn()

    assert ends.there.ended == "aborted"


class Answering:
    """A TLS connection that sends data for all data received, as in a key update."""

    def __init__(self) -> None:
        self.said = False

    def bio_write(self, heard: bytes) -> None:
        self.said = False

    def bio_read(self, size: int) -> bytes:
        if self.said:
            raise SSL.WantReadError
        self.said = True
        return bytes(1000)

    def recv(self, size: int) -> bytes:
        raise SSL.WantReadError


@pytest.mark.parametrize(("takes", "ended"), [(True, ""), (False, "aborted")])
async def test_buffered_tls_responses_are_limited(takes: bool, ended: str) -> None:  # noqa: FBT001
    ends = await Ends().secured()
    ends.there.high = 1 << 30 if takes else 0
    if not takes:
        ends.one.write(b"nobody takes it")
    ends.one._tls = cast(SSL.Connection, Answering())
    reading = asyncio.create_task(ends.one.read(1))

    for _ in range(100):
        await asyncio.sleep(0)
        ends.one.buffer_updated(1)

    assert ends.there.ended == ended
    reading.cancel()


async def test_before_there_is_a_socket_nothing_can_be_done() -> None:
    context = tls.make_context(node(0).identity)
    stream = Stream(lambda: tls.dialling(context), CONFIG, bytearray(CHUNK))

    assert not stream.write(b"early")
    assert stream.unsent == 0
    assert stream.close() == 0
    stream.abort()


async def test_refused_connection_starts_no_tls() -> None:
    def refuse(_stream: Stream) -> bool:
        return False

    def make() -> Any:
        raise AssertionError

    stream = Stream(make, CONFIG, bytearray(CHUNK), refuse)
    wire = Wire(("192.0.2.1", 1))

    stream.connection_made(wire)

    assert wire.ended == "aborted"
