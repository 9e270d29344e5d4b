"""Parts of the WebSocket code: eager coroutines, frames, the outbound queue."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame, Opcode
from websockets.protocol import OPEN

from jsonrpc.http import delivery
from jsonrpc.http.delivery import direct_write, text_frame, text_frames
from jsonrpc.limits.memory import MemoryLimits, UnreadMemory
from jsonrpc.websocket.hub import Hub
from jsonrpc.websocket.outbound import OutboundLimits, SocketWriter, notify


async def at_once() -> int:
    return 7


async def after(event: asyncio.Event, times: int = 1) -> int:
    for _ in range(times):
        await event.wait()
        event.clear()
    return 8


async def test_a_coroutine_that_does_not_pause_is_done_at_once() -> None:
    assert delivery.start(at_once()) == 7


async def test_paused_coroutine_is_finished_by_its_awaiter() -> None:
    event = asyncio.Event()
    rest = delivery.start(after(event, times=2))
    assert isinstance(rest, delivery.PausedWork)
    task = asyncio.ensure_future(rest)
    async with asyncio.timeout(60):
        while not task.done():
            event.set()
            await asyncio.sleep(0)
    assert task.result() == 8


async def test_a_paused_coroutine_can_be_timed_out() -> None:
    rest = delivery.start(after(asyncio.Event()))
    assert isinstance(rest, delivery.PausedWork)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await rest


async def test_exception_is_raised_at_the_start() -> None:
    async def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        delivery.start(fail())


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65_535, 65_536, 100_000])
def test_frame_equals_that_of_the_websockets_library(size: int) -> None:
    expected = Frame(Opcode.TEXT, b"x" * size).serialize(mask=False)
    assert text_frame(b"x" * size) == expected


def test_server_without_the_internal_attributes_is_not_patched() -> None:
    assert direct_write(SocketPeer().send) is None
    assert direct_write(lambda message: None) is None


class SocketPeer:
    """The server's side of a socket whose peer reads only while the test allows it."""

    def __init__(self) -> None:
        self.reads = asyncio.Event()
        self.reads.set()
        self.gone = False
        self.sent: list[str] = []
        self.closed: list[tuple[int, str]] = []
        self.abandoned = 0

    async def send(self, message) -> None:
        await self.reads.wait()
        if self.gone:
            raise OSError("gone")
        if message["type"] == "websocket.close":
            self.closed.append((message["code"], message["reason"]))
        else:
            self.sent.append(message["text"])

    def abandon(self) -> None:
        self.abandoned += 1


def connect(peer: SocketPeer, **limits) -> SocketWriter:
    return SocketWriter(peer.send, OutboundLimits(**limits), peer.abandon)


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_peer_that_keeps_up_is_written_to_without_a_task() -> None:
    peer = SocketPeer()
    connection = connect(peer)
    before = asyncio.all_tasks()
    connection.push(b"a")
    connection.push(b"b")
    assert peer.sent == ["a", "b"]
    assert asyncio.all_tasks() == before


async def test_messages_for_a_peer_that_pauses_keep_their_order() -> None:
    peer = SocketPeer()
    connection = connect(peer)
    peer.reads.clear()
    for text in (b"a", b"b", b"c"):
        connection.push(text)
    assert (peer.sent, connection.backlog) == ([], 2)
    peer.reads.set()
    await connection.drained()
    connection.push(b"d")
    assert peer.sent == ["a", "b", "c", "d"]


@pytest.mark.parametrize("limits", [{"messages": 3}, {"bytes": 30}])
async def test_a_full_queue_closes_the_peer_with_1013_and_a_reason(limits) -> None:
    peer = SocketPeer()
    connection = connect(peer, **limits)
    peer.reads.clear()
    for _ in range(5):
        connection.push(b"x" * 10)
    assert connection.closed
    assert connection.backlog == 0
    peer.reads.set()
    await connection.drained()
    await settle()
    assert peer.sent == ["x" * 10]
    assert peer.closed == [(1013, "too slow: messages wait for too long")]
    assert peer.abandoned == 0


async def test_single_message_may_exceed_the_queue() -> None:
    peer = SocketPeer()
    connection = connect(peer, bytes=5)
    peer.reads.clear()
    connection.push(b"a")
    connection.push(b"x" * 100)
    assert not connection.closed
    peer.reads.set()
    await connection.drained()
    assert peer.sent == ["a", "x" * 100]


async def test_a_write_that_takes_too_long_cuts_a_dead_peer_off() -> None:
    peer = SocketPeer()
    connection = connect(peer, seconds=0.02)
    peer.reads.clear()
    connection.push(b"a")
    connection.push(b"b")
    async with asyncio.timeout(60):
        while not peer.abandoned:
            await asyncio.sleep(0.005)
    assert connection.closed
    await settle()
    assert peer.abandoned == 1
    assert (peer.sent, peer.closed) == ([], [])


async def test_disconnected_peer_is_not_written_to() -> None:
    peer = SocketPeer()
    connection = connect(peer)
    peer.gone = True
    connection.push(b"a")
    assert connection.closed
    await connection.close(1000, "bye")
    connection = connect(peer)
    await connection.close(1000, "bye")
    other = SocketPeer()
    connection = connect(other)
    other.reads.clear()
    connection.push(b"a")
    other.gone = True
    other.reads.set()
    await settle()
    assert connection.closed
    assert other.abandoned == 0


async def test_a_server_that_refuses_the_code_closes_without_it() -> None:
    sent = []

    async def send(message) -> None:
        if "code" in message:
            raise ValueError("invalid close code")
        sent.append(message)

    connection = SocketWriter(send, OutboundLimits(), lambda: None)
    await connection.close(1013, "too many connections")
    assert sent == [{"type": "websocket.close"}]


async def test_close_drops_queued_texts_and_sends_a_reason() -> None:
    peer = SocketPeer()
    connection = connect(peer)
    peer.reads.clear()
    connection.push(b"a")
    connection.push(b"b")
    peer.reads.set()
    await connection.close(1009, "message too big")
    connection.push(b"c")
    assert peer.closed == [(1009, "message too big")]
    assert peer.sent == []


class Server(WebSocketsSansIOProtocol):
    """A protocol that writes to an open socket; while it is not `writable`, it accepts no data."""

    def __init__(self) -> None:
        self.conn: Any = SimpleNamespace(extensions=[], state=OPEN)
        self.transport: Any = SimpleNamespace(is_closing=lambda: False, write=self.write)
        self.writable = asyncio.Event()
        self.writable.set()
        self.pieces: list[bytes] = []
        self.closed: list[tuple[int, str]] = []
        self.room = 1 << 30
        """Bytes that it accepts until it becomes unwritable."""

    def write(self, piece: bytes) -> None:
        self.pieces.append(piece)
        self.room -= len(piece)
        if self.room <= 0:
            self.writable.clear()

    def go_on(self, room: int) -> None:
        self.room = room
        self.writable.set()

    async def send(self, message: Any) -> None:
        await self.writable.wait()
        if message["type"] == "websocket.close":
            self.closed.append((message["code"], message["reason"]))
        else:
            self.write(text_frame(message["text"].encode()))

    def connect(self, **limits: Any) -> SocketWriter:
        connection = SocketWriter(self.send, OutboundLimits(**limits), lambda: None)
        connection.accepted()
        return connection


async def test_texts_are_sent_in_one_piece_up_to_the_limit() -> None:
    server = Server()
    connection = server.connect(bytes=5)
    connection.push_all(b"", [b"ab", memoryview(b"cde")], b"")
    connection.push_all(b"[", [b""], b"]")
    connection.push_all(b"a", [b"b", b""], b"cd")
    assert server.pieces == [
        text_frame(b"ab") + text_frame(b"cde"),
        text_frame(b"[]"),
        text_frame(b"abcd"),
        text_frame(b"acd"),
    ]


@pytest.fixture
async def full(monkeypatch: pytest.MonkeyPatch) -> Server:
    """A server that accepts one piece, then none until `go_on`; queued data is sent in short pieces."""
    monkeypatch.setattr(delivery, "PART", 6)
    server = Server()
    server.room = 1
    return server


async def test_queued_texts_are_sent_in_pieces_when_reading_resumes(full: Server) -> None:
    server, connection = full, full.connect()
    texts = [b"%02d" % number for number in range(12)]

    connection.push_all(b"", texts[:2], b"")
    connection.push_all(b"", texts[2:8], b"")
    connection.push(texts[8])
    connection.push_all(b"", texts[9:], b"")
    await settle()
    assert server.pieces == [text_frames(b"", texts[:2], b"")]

    server.go_on(room=8)
    await settle()
    assert server.pieces[1:] == [text_frame(texts[2]), text_frames(b"", texts[3:6], b"")]

    server.go_on(room=1_000)
    await connection.drained()
    assert server.pieces[3:] == [
        text_frame(texts[6]),
        text_frames(b"", texts[7:10], b""),
        text_frames(b"", texts[10:], b""),
    ]
    assert connection.backlog == 0


async def test_a_long_message_that_waits_is_a_piece_of_its_own(full: Server) -> None:
    server, connection = full, full.connect()
    connection.push(b"first")
    for text in (b"waits", b"longer than a part", b"c"):
        connection.push(text)

    server.go_on(room=1_000)
    await connection.drained()

    assert server.pieces == [
        text_frame(payload) for payload in (b"first", b"waits", b"longer than a part", b"c")
    ]


@given(
    st.binary(max_size=70),
    st.lists(st.sampled_from([0, 1, 60, 125, 126, 65_534, 65_535, 65_536]), max_size=4),
    st.binary(max_size=2),
)
def test_frames_with_shared_prefix_and_suffix_equal_single_frames(
    begin: bytes, sizes: list[int], end: bytes
) -> None:
    for change in (0, -len(begin) - len(end)):
        middles = [b"x" * max(0, size + change) for size in sizes]
        whole = b"".join(text_frame(begin + middle + end) for middle in middles)
        assert text_frames(begin, middles, end) == whole


async def test_a_frame_is_written_unless_messages_wait_or_the_socket_is_closed() -> None:
    pieces: list[bytes] = []
    slow = SocketPeer()
    slow.reads.clear()
    connection = connect(slow)
    connection._direct = lambda frames: not pieces.append(frames)
    assert connection.write(b"first")
    connection._direct = lambda _: False
    connection.push(b"waits")
    connection._direct = lambda frames: not pieces.append(frames)
    assert not connection.writes_at_once
    assert not connection.write(b"second")
    connection.lose()
    assert not connection.write(b"third")
    assert pieces == [b"first"]


async def test_a_slow_peer_does_not_delay_another() -> None:
    slow, quick = SocketPeer(), SocketPeer()
    slow.reads.clear()
    hub = Hub()
    sinks = [connect(slow), connect(quick)]
    for sink in sinks:
        hub.connect(sink)
        hub.activate(hub.open(sink, "newHeads"))
    assert await notify(hub.subscriptions("newHeads"), [b"1"]) == 2
    assert await notify(hub.subscriptions("newHeads"), [b"2"]) == 2
    assert len(quick.sent) == 2
    assert slow.sent == []
    sinks[0].lose()


TOO_SLOW = [(1013, "too slow: messages wait for too long")]


def bounded(most: int) -> UnreadMemory:
    return UnreadMemory(MemoryLimits(maximum=most, of_client=most))


def share(memory: UnreadMemory, *peers: SocketPeer) -> list[SocketWriter]:
    """Connect peers that currently read nothing and share one memory limit."""
    for peer in peers:
        peer.reads.clear()
    return [SocketWriter(peer.send, OutboundLimits(), peer.abandon, memory) for peer in peers]


async def test_queued_bytes_are_counted_until_written() -> None:
    peer, memory = SocketPeer(), bounded(1_000)
    (connection,) = share(memory, peer)
    connection.push(b"a" * 10)
    assert memory.held == 10
    connection.push(b"b" * 20)
    assert memory.held == 10 + 20 + 64
    connection.wait_at_server(500)
    assert memory.held == 500 + 10 + 20 + 64
    connection.wait_at_server(0)
    peer.reads.set()
    await connection.drained()
    assert (memory.held, len(peer.sent)) == (0, 2)


async def test_queued_bytes_of_a_lost_connection_are_released() -> None:
    memory = bounded(1_000)
    (connection,) = share(memory, SocketPeer())
    connection.push(b"a")
    connection.push(b"b")
    connection.lose()
    await settle()
    assert memory.held == 0


async def test_slowest_connection_is_closed_at_the_memory_limit() -> None:
    slow, slowest, memory = SocketPeer(), SocketPeer(), bounded(1_000)
    first, other = share(memory, slow, slowest)
    for text in (b"first", b"a" * 300):
        first.push(text)
        other.push(text)
    other.push(b"b" * 200)
    first.push(b"c" * 200)
    assert (first.closed, other.closed) == (False, True)
    for peer in (slow, slowest):
        peer.reads.set()
    await settle()
    assert (slow.closed, len(slow.sent)) == ([], 3)
    assert (slowest.closed, slowest.sent, slowest.abandoned) == (TOO_SLOW, ["first"], 0)
    assert memory.held == 0


@pytest.mark.parametrize("queued", [[], [b"a", b"b" * 200]])
async def test_a_peer_for_whom_the_server_keeps_too_much_is_cut_off(queued: list[bytes]) -> None:
    slow, slowest, memory = SocketPeer(), SocketPeer(), bounded(1_000)
    first, other = share(memory, slow, slowest)
    for text in queued:
        other.push(text)
    other.wait_at_server(700)
    first.push(b"c" * 400)
    await settle()
    assert (first.closed, other.closed) == (False, True)
    assert (slow.abandoned, slowest.abandoned, memory.held) == (0, 1, 400)
    other.lose()
    first.lose()


async def test_connection_closed_while_writing_gets_a_reason(full: Server) -> None:
    server, connection = full, full.connect()
    connection._unread = bounded(1_000)
    for text in (b"first", b"a", b"b" * 200, b"c" * 200):
        connection.push(text)
    written = server.pieces.append

    def write(piece: bytes) -> None:
        written(piece)
        if len(piece) > 200:
            connection.wait_at_server(600)

    server.write = server.transport.write = write  # type: ignore[method-assign]
    server.go_on(room=1_000)
    await settle()
    assert server.pieces == [text_frame(b"first"), text_frame(b"a"), text_frame(b"b" * 200)]
    assert (connection.backlog, server.closed) == (0, TOO_SLOW)
