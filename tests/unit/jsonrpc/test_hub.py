"""The hub: subscriptions, notifications, and the pieces in which they are sent."""

import asyncio
from collections.abc import Callable, Sequence

import msgspec
import pytest

from jsonrpc.dispatch.envelope import notification
from jsonrpc.errors import JsonRpcError, ServiceEnded, TooManyConnections
from jsonrpc.websocket.hub import Hub, HubLimits, SocketExchange, random_id
from jsonrpc.websocket.outbound import Result, notify


class Sink:
    """A socket that records sent texts."""

    def __init__(self) -> None:
        self.texts: list[bytes] = []

    def push(self, text: bytes) -> None:
        self.texts.append(text)

    def push_all(self, begin: bytes, middles: Sequence[Result], end: bytes) -> None:
        self.texts.extend(b"".join((begin, middle, end)) for middle in middles)

    def is_gone(self) -> bool:
        return False

    async def close(self, code: int, reason: str) -> None:
        self.texts.append(f"{code} {reason}".encode())


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
    exchange = SocketExchange(hub, sink)
    identifier = exchange.subscribe(topic, payload)
    exchange.confirm()
    return identifier


def test_an_id_is_a_quantity_of_at_most_128_bits() -> None:
    seen = {random_id() for _ in range(100)}
    assert len(seen) == 100
    assert all(hex(int(text, 16)) == text and int(text, 16) < 2**128 for text in seen)


async def test_a_notification_has_the_form_that_clients_expect(hub: Hub, sink: Sink) -> None:
    subscribe(hub, sink, "newHeads")
    await notify(hub.subscriptions("newHeads"), [b'{"number":"0x1"}'])
    assert sink.texts[0] == notification("eth_subscription", "0x1", b'{"number":"0x1"}')
    assert msgspec.json.decode(sink.texts[0]) == {
        "jsonrpc": "2.0",
        "method": "eth_subscription",
        "params": {"subscription": "0x1", "result": {"number": "0x1"}},
    }


async def test_a_topic_reaches_its_listeners_only(hub: Hub, sink: Sink) -> None:
    subscribe(hub, sink, "newHeads")
    subscribe(hub, sink, "newHeads")
    assert await notify(hub.subscriptions("logs"), [b"1"]) == 0
    assert await notify(hub.subscriptions("newHeads"), [b"1"]) == 2


async def test_no_notification_precedes_the_confirmation(hub: Hub, sink: Sink) -> None:
    exchange = SocketExchange(hub, sink)
    exchange.subscribe("newHeads")
    assert await notify(hub.subscriptions("newHeads"), [b"1"]) == 0
    exchange.confirm()
    assert await notify(hub.subscriptions("newHeads"), [b"1"]) == 1
    exchange.confirm()
    assert await notify(hub.subscriptions("newHeads"), [b"1"]) == 1


async def test_subscription_keeps_its_filter(hub: Hub, sink: Sink) -> None:
    identifier = subscribe(hub, sink, "logs", payload=("address",))
    (subscription,) = hub.subscriptions("logs")
    assert (subscription.id, subscription.payload) == (identifier, ("address",))
    assert await notify([subscription], [b"{}", b"1"]) == 1
    heads = [
        text.decode().partition(f'"subscription":"{identifier}","result":')[2]
        for text in sink.texts
    ]
    assert heads == ["{}}}", "1}}"]


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> tuple[Hub, list[Sink]]:
    """A hub that notifies one subscriber at a time, and ten subscribers to heads."""
    monkeypatch.setattr("jsonrpc.websocket.outbound.WORK_AT_ONCE", 3)
    monkeypatch.setattr("jsonrpc.websocket.outbound.WORK_OF_FIRST_PIECE", 3)
    hub, sinks = Hub(), [Sink() for _ in range(10)]
    for sink in sinks:
        hub.connect(sink)
        subscribe(hub, sink, "newHeads")
    return hub, sinks


async def test_other_tasks_run_while_many_subscribers_are_notified(many) -> None:
    hub, sinks = many
    told = asyncio.create_task(notify(hub.subscriptions("newHeads"), [b"1"]))
    seen = []
    while not told.done():
        await asyncio.sleep(0)
        seen.append(sum(len(sink.texts) for sink in sinks))
    assert await told == 10
    assert seen == [*range(1, 11), 10]


async def test_subscriber_that_leaves_during_notification_gets_nothing(many) -> None:
    hub, sinks = many
    told = asyncio.create_task(notify(hub.subscriptions("newHeads"), [b"1"]))
    await asyncio.sleep(0)
    (second, *_, last) = hub.subscriptions("newHeads")[1:]
    hub.close(sinks[1], second.id)
    hub.disconnect(sinks[9])
    assert (await told, last.sink.texts) == (8, [])
    assert [len(sink.texts) for sink in sinks] == [1, 0, *[1] * 7, 0]


async def test_long_notifications_are_sent_in_parts_and_in_order(many) -> None:
    hub, sinks = many
    first = hub.subscriptions("newHeads")[0]
    results = [b"%d" % number for number in range(8)]
    told = asyncio.create_task(notify([first], results))
    seen = []
    while not told.done():
        await asyncio.sleep(0)
        seen.append(len(sinks[0].texts))
    assert seen == [3, 6, 8, 8]
    assert [msgspec.json.decode(text)["params"]["result"] for text in sinks[0].texts] == [*range(8)]


async def test_other_tasks_run_between_small_pieces(many, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jsonrpc.websocket.outbound.WORK_AT_ONCE", 1_000)
    hub, sinks = many
    first, second, *_ = hub.subscriptions("newHeads")
    told = asyncio.create_task(notify([first, second], [b"1"] * 12))
    seen = []
    while not told.done():
        await asyncio.sleep(0)
        seen.append((len(sinks[0].texts), len(sinks[1].texts)))
    assert seen == [(3, 3), (9, 9), (12, 12)], (
        "all have a piece before the next one, which is longer"
    )


async def test_single_piece_is_sent_to_all_subscribers_in_one_turn(
    many, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jsonrpc.websocket.outbound.WORK_AT_ONCE", 1_000)
    hub, sinks = many
    told = asyncio.create_task(notify(hub.subscriptions("newHeads"), [b"1"] * 3))
    await asyncio.sleep(0)
    assert [len(sink.texts) for sink in sinks] == [3] * 10
    assert await told == 10


async def test_long_results_are_as_much_work_as_many(many) -> None:
    hub, sinks = many
    first = hub.subscriptions("newHeads")[0]
    told = asyncio.create_task(notify([first], [b"1", b"2" * 256, b"3" * 9_999, b"4"]))
    seen = []
    while not told.done():
        await asyncio.sleep(0)
        seen.append(len(sinks[0].texts))
    assert seen == [2, 3, 4, 4]


async def test_ended_subscription_receives_no_further_pieces(many) -> None:
    hub, sinks = many
    first = hub.subscriptions("newHeads")[0]
    told = asyncio.create_task(notify([first], [b"1"] * 8))
    await asyncio.sleep(0)
    hub.close(sinks[0], first.id)
    assert await told == 1
    assert len(sinks[0].texts) == 3


async def test_a_subscription_is_ended_by_its_own_socket_only(hub: Hub, sink: Sink) -> None:
    other = Sink()
    hub.connect(other)
    identifier = subscribe(hub, sink, "newHeads")
    assert not SocketExchange(hub, other).unsubscribe(identifier)
    assert SocketExchange(hub, sink).unsubscribe(identifier)
    assert not SocketExchange(hub, sink).unsubscribe(identifier)
    assert await notify(hub.subscriptions("newHeads"), [b"1"]) == 0


async def test_a_subscription_can_be_ended_in_the_message_that_made_it(
    hub: Hub, sink: Sink
) -> None:
    exchange = SocketExchange(hub, sink)
    identifier = exchange.subscribe("newHeads")
    assert exchange.unsubscribe(identifier)
    exchange.confirm()
    assert await notify(hub.subscriptions("newHeads"), [b"1"]) == 0


def test_everything_ends_with_the_connection(hub: Hub, sink: Sink) -> None:
    subscribe(hub, sink, "newHeads")
    late = SocketExchange(hub, sink)
    late.subscribe("newHeads")
    hub.disconnect(sink)
    late.confirm()
    assert hub.subscriptions("newHeads") == []
    assert hub.connections == 0
    hub.disconnect(sink)


def test_subscriptions_and_sockets_are_limited(hub: Hub, sink: Sink) -> None:
    subscribe(hub, sink, "logs")
    exchange = SocketExchange(hub, sink)
    exchange.subscribe("logs")
    exchange.subscribe("logs")
    with pytest.raises(JsonRpcError, match="too many subscriptions"):
        exchange.subscribe("logs")
    hub.connect(Sink())
    with pytest.raises(TooManyConnections):
        hub.connect(Sink())


def test_sockets_of_one_client_are_limited() -> None:
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


def test_subscriptions_are_bounded_together_and_for_one_client() -> None:
    hub = Hub(HubLimits(connections=4, of_client=2, together=4))
    first, second, other, last = (Sink() for _ in range(4))
    for sink, client in ((first, "a"), (second, "a"), (other, "b"), (last, "")):
        hub.connect(sink, client)
    for sink, topic in ((first, "newHeads"), (second, "logs"), (other, "logs")):
        subscribe(hub, sink, topic)

    assert hub.remaining(first) == hub.remaining(second) == 0
    with pytest.raises(JsonRpcError, match="too many subscriptions"):
        subscribe(hub, first, "logs")
    subscribe(hub, last, "logs")
    with pytest.raises(JsonRpcError, match="too many subscriptions"):
        subscribe(hub, other, "logs")

    hub.disconnect(second)
    assert [hub.remaining(sink) for sink in (first, other, last)] == [1, 1, 1]


async def test_the_sockets_of_an_ended_hub_are_closed_and_no_more_are_served(
    hub: Hub, sink: Sink
) -> None:
    await hub.end("the chain has ended")

    assert sink.texts == [b"1001 the chain has ended"]
    with pytest.raises(ServiceEnded, match="the chain has ended"):
        hub.connect(Sink())
    hub.disconnect(sink)
    assert not hub.connections
