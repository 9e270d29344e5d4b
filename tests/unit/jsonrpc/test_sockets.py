"""WebSocket parts by themselves: coroutines run eagerly, the outbound queue, the hub."""

import asyncio
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import msgspec
import pytest
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame, Opcode
from websockets.protocol import OPEN

from jsonrpc import delivery
from jsonrpc.connection import Connection, OutboundLimits
from jsonrpc.delivery import direct_write, text_frame
from jsonrpc.envelope import notification
from jsonrpc.errors import JsonRpcError, TooManyConnections
from jsonrpc.hub import Exchange, Hub, HubLimits, random_id


async def at_once() -> int:
    return 7


async def after(event: asyncio.Event, times: int = 1) -> int:
    for _ in range(times):
        await event.wait()
        event.clear()
    return 8


async def test_a_coroutine_that_does_not_pause_is_done_at_once() -> None:
    assert delivery.start(at_once()) == 7


async def test_a_coroutine_that_pauses_is_finished_by_whoever_awaits_it() -> None:
    event = asyncio.Event()
    rest = delivery.start(after(event, times=2))
    assert isinstance(rest, delivery.Paused)
    task = asyncio.ensure_future(rest)
    async with asyncio.timeout(60):
        while not task.done():
            event.set()
            await asyncio.sleep(0)
    assert task.result() == 8


async def test_a_paused_coroutine_can_be_timed_out() -> None:
    rest = delivery.start(after(asyncio.Event()))
    assert isinstance(rest, delivery.Paused)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await rest


async def test_an_exception_comes_out_of_the_start() -> None:
    async def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        delivery.start(fail())


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65_535, 65_536, 100_000])
def test_a_frame_is_the_one_that_the_websockets_library_makes(size: int) -> None:
    expected = Frame(Opcode.TEXT, b"x" * size).serialize(mask=False)
    assert text_frame(b"x" * size) == expected


def test_a_server_without_the_shorter_way_is_left_alone() -> None:
    assert direct_write(Peer().send) is None
    assert direct_write(lambda message: None) is None


class Peer:
    """A server's side of a socket whose peer reads only while it is told to."""

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


def connect(peer: Peer, **limits) -> Connection:
    return Connection(peer.send, OutboundLimits(**limits), peer.abandon)


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_peer_that_keeps_up_is_written_to_without_a_task() -> None:
    peer = Peer()
    connection = connect(peer)
    before = asyncio.all_tasks()
    connection.push(b"a")
    connection.push(b"b")
    assert peer.sent == ["a", "b"]
    assert asyncio.all_tasks() == before


async def test_messages_for_a_peer_that_pauses_keep_their_order() -> None:
    peer = Peer()
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
    peer = Peer()
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


async def test_one_message_larger_than_the_queue_may_wait_alone() -> None:
    peer = Peer()
    connection = connect(peer, bytes=5)
    peer.reads.clear()
    connection.push(b"a")
    connection.push(b"x" * 100)
    assert not connection.closed
    peer.reads.set()
    await connection.drained()
    assert peer.sent == ["a", "x" * 100]


async def test_a_write_that_takes_too_long_cuts_a_dead_peer_off() -> None:
    peer = Peer()
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


async def test_a_peer_that_is_gone_is_left_in_peace() -> None:
    peer = Peer()
    connection = connect(peer)
    peer.gone = True
    connection.push(b"a")
    assert connection.closed
    await connection.close(1000, "bye")
    connection = connect(peer)
    await connection.close(1000, "bye")
    other = Peer()
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

    connection = Connection(send, OutboundLimits(), lambda: None)
    await connection.close(1013, "too many connections")
    assert sent == [{"type": "websocket.close"}]


async def test_closing_drops_what_waits_and_says_why() -> None:
    peer = Peer()
    connection = connect(peer)
    peer.reads.clear()
    connection.push(b"a")
    connection.push(b"b")
    peer.reads.set()
    await connection.close(1009, "message too big")
    connection.push(b"c")
    assert peer.closed == [(1009, "message too big")]
    assert peer.sent == []


async def test_texts_go_in_one_piece_unless_they_are_more_than_may_wait() -> None:
    class Server(WebSocketsSansIOProtocol):
        """What a socket is written by that is open."""

        conn: Any = SimpleNamespace(extensions=[], state=OPEN)

        def __init__(self) -> None:
            self.transport: Any = SimpleNamespace(
                is_closing=lambda: False, write=self.pieces.append
            )
            self.writable = asyncio.Event()
            self.writable.set()

        pieces: ClassVar[list[bytes]] = []

    connection = Connection(Server().send, OutboundLimits(bytes=5), lambda: None)
    connection.accepted()
    connection.push_all(b"", [b"ab", memoryview(b"cde")], b"")
    connection.push_all(b"[", [b""], b"]")
    connection.push_all(b"a", [b"b", b""], b"cd")
    assert Server.pieces == [
        text_frame(b"ab") + text_frame(b"cde"),
        text_frame(b"[]"),
        text_frame(b"abcd"),
        text_frame(b"acd"),
    ]


async def test_a_frame_is_written_unless_messages_wait_or_the_socket_is_closed() -> None:
    pieces: list[bytes] = []
    slow = Peer()
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
    slow, quick = Peer(), Peer()
    slow.reads.clear()
    hub = Hub()
    sinks = [connect(slow), connect(quick)]
    for sink in sinks:
        hub.connect(sink)
        hub.activate(hub.open(sink, "newHeads"))
    assert await hub.publish("newHeads", b"1") == 2
    assert await hub.publish("newHeads", b"2") == 2
    assert len(quick.sent) == 2
    assert slow.sent == []
    sinks[0].lose()


class Sink:
    """A socket that remembers what it was given."""

    def __init__(self) -> None:
        self.texts: list[bytes] = []

    def push(self, text: bytes) -> None:
        self.texts.append(text)

    def push_all(self, begin: bytes, middles: Sequence[bytes | memoryview], end: bytes) -> None:
        self.texts.extend(b"".join((begin, middle, end)) for middle in middles)

    def is_gone(self) -> bool:
        return False


@pytest.fixture
def ids() -> Callable[[], str]:
    numbers = iter(range(1, 1000))
    return lambda: hex(next(numbers))


@pytest.fixture
def hub(ids) -> Hub:
    return Hub(HubLimits(connections=2, subscriptions=3), new_id=ids)


@pytest.fixture
def sink(hub: Hub) -> Sink:
    sink = Sink()
    hub.connect(sink)
    return sink


def subscribe(hub: Hub, sink: Sink, topic: str, payload: object = None) -> str:
    exchange = Exchange(hub, sink)
    identifier = exchange.subscribe(topic, payload)
    exchange.confirm()
    return identifier


def test_an_id_is_a_quantity_of_at_most_128_bits() -> None:
    seen = {random_id() for _ in range(100)}
    assert len(seen) == 100
    assert all(hex(int(text, 16)) == text and int(text, 16) < 2**128 for text in seen)


async def test_a_notification_has_the_form_that_clients_expect(hub: Hub, sink: Sink) -> None:
    subscribe(hub, sink, "newHeads")
    await hub.publish("newHeads", b'{"number":"0x1"}')
    assert sink.texts[0] == notification("eth_subscription", "0x1", b'{"number":"0x1"}')
    assert msgspec.json.decode(sink.texts[0]) == {
        "jsonrpc": "2.0",
        "method": "eth_subscription",
        "params": {"subscription": "0x1", "result": {"number": "0x1"}},
    }


async def test_a_topic_reaches_its_listeners_only(hub: Hub, sink: Sink) -> None:
    subscribe(hub, sink, "newHeads")
    subscribe(hub, sink, "newHeads")
    assert await hub.publish("logs", b"1") == 0
    assert await hub.publish("newHeads", b"1") == 2


async def test_nothing_is_heard_before_the_confirmation(hub: Hub, sink: Sink) -> None:
    exchange = Exchange(hub, sink)
    exchange.subscribe("newHeads")
    assert await hub.publish("newHeads", b"1") == 0
    exchange.confirm()
    assert await hub.publish("newHeads", b"1") == 1
    exchange.confirm()
    assert await hub.publish("newHeads", b"1") == 1


async def test_a_filter_stays_with_its_subscription(hub: Hub, sink: Sink) -> None:
    identifier = subscribe(hub, sink, "logs", payload=("address",))
    (subscription,) = hub.subscriptions("logs")
    assert (subscription.id, subscription.payload) == (identifier, ("address",))
    assert await hub.send([subscription], [b"{}", b"1"]) == 1
    heads = [
        text.decode().partition(f'"subscription":"{identifier}","result":')[2]
        for text in sink.texts
    ]
    assert heads == ["{}}}", "1}}"]


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> tuple[Hub, list[Sink]]:
    """A hub that tells one listener at a time, and ten that listen to heads."""
    monkeypatch.setattr("jsonrpc.hub.WORK_AT_ONCE", 3)
    monkeypatch.setattr("jsonrpc.hub.WORK_OF_PIECE", 3)
    hub, sinks = Hub(), [Sink() for _ in range(10)]
    for sink in sinks:
        hub.connect(sink)
        subscribe(hub, sink, "newHeads")
    return hub, sinks


async def test_others_get_their_turns_while_many_are_told(many) -> None:
    hub, sinks = many
    told = asyncio.create_task(hub.publish("newHeads", b"1"))
    seen = []
    while not told.done():
        await asyncio.sleep(0)
        seen.append(sum(len(sink.texts) for sink in sinks))
    assert await told == 10
    assert seen == [*range(1, 11), 10]


async def test_who_leaves_while_others_are_told_is_not_told(many) -> None:
    hub, sinks = many
    told = asyncio.create_task(hub.publish("newHeads", b"1"))
    await asyncio.sleep(0)
    (second, *_, last) = hub.subscriptions("newHeads")[1:]
    hub.close(sinks[1], second.id)
    hub.disconnect(sinks[9])
    assert (await told, last.sink.texts) == (8, [])
    assert [len(sink.texts) for sink in sinks] == [1, 0, *[1] * 7, 0]


async def test_one_that_is_told_much_is_told_in_parts_and_in_order(many) -> None:
    hub, sinks = many
    first = hub.subscriptions("newHeads")[0]
    results = [b"%d" % number for number in range(8)]
    told = asyncio.create_task(hub.send([first], results))
    seen = []
    while not told.done():
        await asyncio.sleep(0)
        seen.append(len(sinks[0].texts))
    assert seen == [3, 6, 8, 8]
    assert [msgspec.json.decode(one)["params"]["result"] for one in sinks[0].texts] == [*range(8)]


async def test_others_get_their_turns_between_pieces_however_little_work_they_are(
    many, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jsonrpc.hub.WORK_AT_ONCE", 1_000)
    hub, sinks = many
    first, second, *_ = hub.subscriptions("newHeads")
    told = asyncio.create_task(hub.send([first, second], [b"1"] * 5))
    seen = []
    while not told.done():
        await asyncio.sleep(0)
        seen.append((len(sinks[0].texts), len(sinks[1].texts)))
    assert seen == [(3, 0), (5, 0), (5, 3), (5, 5), (5, 5)]


async def test_one_piece_for_several_is_told_at_once(many, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jsonrpc.hub.WORK_AT_ONCE", 1_000)
    hub, sinks = many
    told = asyncio.create_task(hub.send(hub.subscriptions("newHeads"), [b"1"] * 3))
    await asyncio.sleep(0)
    assert [len(sink.texts) for sink in sinks] == [3] * 10
    assert await told == 10


async def test_long_results_are_as_much_work_as_many(many) -> None:
    hub, sinks = many
    first = hub.subscriptions("newHeads")[0]
    told = asyncio.create_task(hub.send([first], [b"1", b"2" * 256, b"3" * 9_999, b"4"]))
    seen = []
    while not told.done():
        await asyncio.sleep(0)
        seen.append(len(sinks[0].texts))
    assert seen == [2, 3, 4, 4]


async def test_one_that_ends_while_it_is_told_much_hears_no_more(many) -> None:
    hub, sinks = many
    first = hub.subscriptions("newHeads")[0]
    told = asyncio.create_task(hub.send([first], [b"1"] * 8))
    await asyncio.sleep(0)
    hub.close(sinks[0], first.id)
    assert await told == 1
    assert len(sinks[0].texts) == 3


async def test_a_subscription_is_ended_by_its_own_socket_only(hub: Hub, sink: Sink) -> None:
    other = Sink()
    hub.connect(other)
    identifier = subscribe(hub, sink, "newHeads")
    assert not Exchange(hub, other).unsubscribe(identifier)
    assert Exchange(hub, sink).unsubscribe(identifier)
    assert not Exchange(hub, sink).unsubscribe(identifier)
    assert await hub.publish("newHeads", b"1") == 0


async def test_a_subscription_can_be_ended_in_the_message_that_made_it(
    hub: Hub, sink: Sink
) -> None:
    exchange = Exchange(hub, sink)
    identifier = exchange.subscribe("newHeads")
    assert exchange.unsubscribe(identifier)
    exchange.confirm()
    assert await hub.publish("newHeads", b"1") == 0


def test_everything_ends_with_the_connection(hub: Hub, sink: Sink) -> None:
    subscribe(hub, sink, "newHeads")
    late = Exchange(hub, sink)
    late.subscribe("newHeads")
    hub.disconnect(sink)
    late.confirm()
    assert hub.subscriptions("newHeads") == []
    assert hub.connections == 0
    hub.disconnect(sink)


def test_a_socket_has_so_many_subscriptions_and_a_process_so_many_sockets(
    hub: Hub, sink: Sink
) -> None:
    subscribe(hub, sink, "logs")
    exchange = Exchange(hub, sink)
    exchange.subscribe("logs")
    exchange.subscribe("logs")
    with pytest.raises(JsonRpcError, match="too many subscriptions on this connection"):
        exchange.subscribe("logs")
    hub.connect(Sink())
    with pytest.raises(TooManyConnections):
        hub.connect(Sink())


def test_one_client_leaves_room_for_others() -> None:
    hub = Hub(HubLimits(connections=4, of_client=2))
    sinks = [Sink() for _ in range(5)]
    hub.connect(sinks[0], "192.0.2.1")
    hub.connect(sinks[1], "192.0.2.1")
    with pytest.raises(TooManyConnections):
        hub.connect(sinks[2], "192.0.2.1")
    hub.connect(sinks[2], "192.0.2.2")
    for _ in range(2):
        hub.disconnect(sinks[0])
    hub.connect(sinks[3], "192.0.2.1")
    with pytest.raises(TooManyConnections):
        hub.connect(sinks[4], "192.0.2.1")
    assert hub.connections == 3
