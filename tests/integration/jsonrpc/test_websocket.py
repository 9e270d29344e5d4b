"""The WebSocket endpoint as a Channels application."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import msgspec
import pytest
from channels.testing import HttpCommunicator

from jsonrpc.dispatch.calls import DispatchLimits
from jsonrpc.dispatch.dispatcher import Dispatcher
from jsonrpc.dispatch.gate import GateConfig
from jsonrpc.dispatch.params import Param
from jsonrpc.http.answering import Answering
from jsonrpc.http.asgi_rpc import AsgiRpc
from jsonrpc.http.replies import Endpoint, by_path
from jsonrpc.limits.client_address import TrustedProxies
from jsonrpc.limits.throttle import LocalThrottle, Rate
from jsonrpc.websocket.consumer import JsonRpcConsumer
from jsonrpc.websocket.hub import Hub, HubLimits
from jsonrpc.websocket.outbound import OutboundLimits, notify
from jsonrpc.websocket.session import SocketLimits
from tests.integration.jsonrpc.messages import NUMBER, NUMBER_ANSWER, PARSE_ERROR, request, until
from tests.integration.patience import SECONDS, PatientCommunicator

pytestmark = pytest.mark.sqlite_only

JSON = [(b"content-type", b"application/json"), (b"host", b"localhost")]


@asynccontextmanager
async def opened(application, **headers: str) -> AsyncIterator[PatientCommunicator]:
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    socket = PatientCommunicator(application, "/ws", headers=raw)
    socket.scope["client"] = ("127.0.0.1", 1)
    connected, _ = await socket.connect()
    assert connected
    yield socket
    await socket.disconnect()


async def test_the_same_methods_as_over_http(application) -> None:
    async with opened(application()) as ws:
        for text, answer in (
            (NUMBER, NUMBER_ANSWER),
            (request(1, "echo", "0x10"), NUMBER_ANSWER),
            (f"[{NUMBER}]", f"[{NUMBER_ANSWER}]"),
        ):
            await ws.send_to(text_data=text)
            assert await ws.receive_from() == answer


@pytest.mark.parametrize("method", ["whose", "whose_in_thread"])
async def test_handler_gets_the_client_address(application, method) -> None:
    config = GateConfig(proxies=TrustedProxies.of("127.0.0.1"))
    for headers, key in (({}, "127.0.0.1"), ({"x-forwarded-for": "203.0.113.9"}, "203.0.113.9")):
        async with opened(application(config), **headers) as ws:
            await ws.send_to(text_data=request(1, method))
            assert await ws.receive_from() == NUMBER_ANSWER.replace("0x10", key)


async def test_a_binary_message_is_answered_with_text(application) -> None:
    async with opened(application()) as ws:
        await ws.send_to(bytes_data=NUMBER.encode())
        assert await ws.receive_from() == NUMBER_ANSWER


async def test_a_notification_is_not_answered(application, calls) -> None:
    async with opened(application()) as ws:
        await ws.send_to(text_data='{"jsonrpc":"2.0","method":"number"}')
        await ws.send_to(text_data=NUMBER)
        assert await ws.receive_from() == NUMBER_ANSWER
        assert len(calls.seen) == 2


async def test_malformed_json_gets_an_error_and_closes(application, hub) -> None:
    async with opened(application()) as ws:
        await ws.send_to(text_data="nonsense")
        assert await ws.receive_from() == PARSE_ERROR
        closed = await ws.receive_output()
        assert (closed["type"], closed["code"]) == ("websocket.close", 1007)
    assert hub.connections == 0


async def test_invalid_request_does_not_close_the_socket(application) -> None:
    async with opened(application()) as ws:
        await ws.send_to(text_data="{}")
        assert "-32600" in await ws.receive_from()
        await ws.send_to(text_data=NUMBER)
        assert await ws.receive_from() == NUMBER_ANSWER


async def test_a_message_over_the_limit_closes_the_socket(application) -> None:
    async with opened(application(limits=SocketLimits(message=100))) as ws:
        await ws.send_to(text_data=NUMBER.ljust(101))
        closed = await ws.receive_output()
        assert (closed["code"], closed["reason"]) == (1009, "message too big")
        await ws.send_to(text_data=NUMBER)
        assert await ws.receive_nothing()


async def test_subscription_receives_its_topic_until_it_ends(application, hub) -> None:
    async with opened(application()) as ws:
        await ws.send_to(text_data=request(1, "subscribe", "newHeads"))
        identifier = msgspec.json.decode(await ws.receive_from())["result"]
        assert await notify(hub.subscriptions("newHeads"), [b'{"number":"0x1"}']) == 1
        params = msgspec.json.decode(await ws.receive_from())["params"]
        assert params == {"subscription": identifier, "result": {"number": "0x1"}}
        await ws.send_to(text_data=request(2, "unsubscribe", identifier))
        assert msgspec.json.decode(await ws.receive_from())["result"] is True
        await ws.send_to(text_data=request(3, "unsubscribe", identifier))
        assert msgspec.json.decode(await ws.receive_from())["result"] is False
        assert await notify(hub.subscriptions("newHeads"), [b"1"]) == 0


@pytest.mark.parametrize("hot", [True, False])
async def test_confirmation_precedes_the_first_notification(
    application, registry, hub, hot
) -> None:
    loop = asyncio.get_running_loop()

    def subscribe_and_publish(connection) -> str:
        identifier = connection.subscribe("busy")
        asyncio.run_coroutine_threadsafe(notify(hub.subscriptions("busy"), [b'"during"']), loop)
        return identifier

    registry.add("busy", subscribe_and_publish, connection=True, hot=hot)
    async with opened(application()) as ws:
        await ws.send_to(text_data=request(1, "busy"))
        assert "result" in msgspec.json.decode(await ws.receive_from())
        await notify(hub.subscriptions("busy"), [b'"after"'])
        texts = [await ws.receive_from()]
        if "during" in texts[0]:
            texts.append(await ws.receive_from())
        assert "after" in texts[-1]


async def test_subscriptions_end_with_their_connection(application, hub) -> None:
    async with opened(application()) as ws:
        await ws.send_to(text_data=request(1, "subscribe", "newHeads"))
        await ws.receive_from()
        assert len(hub.subscriptions("newHeads")) == 1
    assert hub.subscriptions("newHeads") == []


@pytest.fixture
def go(registry) -> Iterator[threading.Event]:
    """The event for which calls of the method `held` wait, each in a worker thread."""
    made = threading.Event()
    registry.add("held", lambda: made.wait(SECONDS))
    yield made
    made.set()


async def test_slow_call_does_not_delay_a_fast_one(application, go) -> None:
    async with opened(application()) as ws:
        await ws.send_to(text_data=request(7, "held"))
        await ws.send_to(text_data=NUMBER)
        assert await ws.receive_from() == NUMBER_ANSWER
        go.set()
        assert '"id":7' in await ws.receive_from()


async def test_too_many_waiting_calls_get_an_error(application, go) -> None:
    async with opened(application()) as ws:
        for identifier in range(6):
            await ws.send_to(text_data=request(identifier, "held"))
        refused = [msgspec.json.decode(await ws.receive_from()) for _ in range(2)]
        go.set()
        answers = [msgspec.json.decode(await ws.receive_from()) for _ in range(4)]
    assert [answer["id"] for answer in refused if "error" in answer] == [4, 5]
    assert sorted(answer["id"] for answer in answers if "result" in answer) == [0, 1, 2, 3]


async def test_calls_above_the_sockets_limit_wait(application) -> None:
    async with opened(application(limits=SocketLimits(pending=2))) as ws:
        for identifier in range(6):
            await ws.send_to(text_data=request(identifier, "sleep", 0.02))
        answers = [msgspec.json.decode(await ws.receive_from()) for _ in range(6)]
    assert all("result" in answer for answer in answers)


async def test_overlong_call_times_out(application, go, monkeypatch) -> None:
    monkeypatch.setattr("jsonrpc.http.answering.GRACE_SECONDS", 0.0)
    async with opened(application(budget=DispatchLimits(seconds=0.05))) as ws:
        await ws.send_to(text_data=request(7, "held"))
        assert "-32002" in await ws.receive_from()
        go.set()


async def test_rate_limited_socket_gets_an_error_and_stays_open(application, clock) -> None:
    throttle = LocalThrottle(Rate(1, 1), clock)
    async with opened(application(throttle=throttle)) as ws:
        await ws.send_to(text_data=NUMBER)
        assert await ws.receive_from() == NUMBER_ANSWER
        await ws.send_to(text_data=NUMBER)
        error = {"code": -32005, "message": "rate limit exceeded"}
        answer = msgspec.json.decode(await ws.receive_from())
        assert answer == {"jsonrpc": "2.0", "id": 1, "error": error}
        clock.now += 1
        await ws.send_to(text_data=NUMBER)
        assert await ws.receive_from() == NUMBER_ANSWER


async def test_long_message_is_refused_while_all_threads_are_busy(
    application, clock, workers, go
) -> None:
    throttle = LocalThrottle(Rate(1, 100), clock)
    app = application(throttle=throttle, budget=DispatchLimits(hot_body=100))
    async with opened(app) as ws:
        for identifier in range(4):
            await ws.send_to(text_data=request(identifier, "held"))
        await until(lambda: workers.pending == 4)
        await ws.send_to(text_data=f"[{NUMBER}]".ljust(101))
        assert "server is busy" in await ws.receive_from()
        go.set()
        answers = [await ws.receive_from() for _ in range(4)]
        assert all("result" in answer for answer in answers)


class Store:
    """A vectorized method that doubles numbers, records each batch, and waits until it is released."""

    def __init__(self) -> None:
        self.pieces = []
        self.go = threading.Event()

    def put(self, arguments):
        self.pieces.append([value for (value,) in arguments])
        self.go.wait(SECONDS)
        return [2 * value for (value,) in arguments]


@pytest.fixture
def store(registry) -> Store:
    made = Store()
    registry.add("put", params=[Param("value", int)], vectorized=made.put)
    return made


async def waits(ws) -> None:
    """Return when all messages sent on a socket are in progress: a hot call is then answered."""
    await ws.send_to(text_data=NUMBER)
    assert await ws.receive_from() == NUMBER_ANSWER


async def test_requests_of_several_sockets_are_gathered_into_one_batch(application, store) -> None:
    app = application()
    async with opened(app) as first, opened(app) as second, opened(app) as third:
        await first.send_to(text_data=request(100, "put", 100))
        await until(lambda: store.pieces == [[100]])
        for identifier in range(12):
            ws = (first, second, third)[identifier % 3]
            await ws.send_to(text_data=request(identifier, "put", identifier))
        for ws in (first, second, third):
            await waits(ws)
        store.go.set()
        for place, ws in enumerate((first, second, third)):
            count = 5 if place == 0 else 4
            answers = [msgspec.json.decode(await ws.receive_from()) for _ in range(count)]
            expected = {identifier: 2 * identifier for identifier in range(place, 12, 3)}
            if place == 0:
                expected[100] = 200
            assert {answer["id"]: answer["result"] for answer in answers} == expected
    assert [sorted(piece) for piece in store.pieces] == [[100], list(range(12))]


async def test_a_socket_and_http_share_a_piece(registry, hub, workers, store) -> None:
    endpoint = Endpoint(("/rpc",), Dispatcher(registry))
    answering = Answering(workers)
    sockets = JsonRpcConsumer.as_asgi(endpoint=endpoint, hub=hub, answering=answering)
    app = AsgiRpc(by_path([endpoint]), sockets, answering)
    posts = [
        HttpCommunicator(app, "POST", "/rpc", request(n, "put", n).encode(), JSON) for n in (1, 2)
    ]
    async with opened(app) as ws:
        first = asyncio.create_task(posts[0].get_response(timeout=SECONDS))
        await until(lambda: store.pieces == [[1]])
        second = asyncio.create_task(posts[1].get_response(timeout=SECONDS))
        await ws.send_to(text_data=request(3, "put", 3))
        await waits(ws)
        store.go.set()
        assert msgspec.json.decode(await ws.receive_from())["result"] == 6
        for n, post in ((1, first), (2, second)):
            assert msgspec.json.decode((await post)["body"])["result"] == 2 * n
    assert [sorted(piece) for piece in store.pieces] == [[1], [2, 3]]


async def test_gathered_notification_is_executed_without_response(application, store) -> None:
    store.go.set()
    async with opened(application()) as ws:
        await ws.send_to(text_data='{"jsonrpc":"2.0","method":"put","params":[3]}')
        await until(lambda: store.pieces == [[3]])
        await waits(ws)


async def test_closed_socket_does_not_affect_gathered_responses_of_others(
    application, store
) -> None:
    app = application()
    async with opened(app) as stays:
        async with opened(app) as goes:
            await stays.send_to(text_data=request(1, "put", 1))
            await until(lambda: store.pieces == [[1]])
            await goes.send_to(text_data=request(2, "put", 2))
            await waits(goes)
            await stays.send_to(text_data=request(3, "put", 3))
            await waits(stays)
        store.go.set()
        answers = [msgspec.json.decode(await stays.receive_from()) for _ in range(2)]
    assert [answer["result"] for answer in answers] == [2, 6]


async def test_gathered_requests_above_the_limit_are_refused(
    application, store, monkeypatch
) -> None:
    monkeypatch.setattr("jsonrpc.http.answering.MAX_WAITING", 1)
    async with opened(application()) as ws:
        await ws.send_to(text_data=request(1, "put", 1))
        await until(lambda: store.pieces == [[1]])
        await ws.send_to(text_data=request(2, "put", 2))
        await ws.send_to(text_data=request(3, "put", 3))
        refused = msgspec.json.decode(await ws.receive_from())
        assert (refused["id"], refused["error"]["message"]) == (3, "server is busy")
        store.go.set()
        answers = [msgspec.json.decode(await ws.receive_from()) for _ in range(2)]
    assert [answer["result"] for answer in answers] == [2, 4]


async def test_overlong_gathered_work_times_out(application, store, monkeypatch) -> None:
    monkeypatch.setattr("jsonrpc.http.answering.GRACE_SECONDS", 0.0)
    async with opened(application(budget=DispatchLimits(seconds=0.05))) as ws:
        await ws.send_to(text_data=request(7, "put", 7))
        answer = msgspec.json.decode(await ws.receive_from())
        assert (answer["id"], answer["error"]["code"]) == (7, -32002)
    store.go.set()


class Stalled:
    """A server whose socket accepts the handshake and then blocks every send, even that of the close."""

    def __init__(self, *messages: str) -> None:
        self.messages = [{"type": "websocket.connect"}]
        self.messages += [{"type": "websocket.receive", "text": text} for text in messages]

    async def receive(self) -> dict[str, str]:
        if self.messages:
            return self.messages.pop(0)
        return await asyncio.Event().wait()

    async def send(self, message: dict[str, str]) -> None:
        if message["type"] != "websocket.accept":
            await asyncio.Event().wait()


SCOPE = {"type": "websocket", "path": "/ws", "query_string": b"", "headers": []}


async def test_unreadable_socket_is_abandoned_if_it_cannot_be_aborted(application, hub) -> None:
    server = Stalled(NUMBER)
    app = application(limits=SocketLimits(outbound=OutboundLimits(seconds=0.02)))
    async with asyncio.timeout(SECONDS):
        await app(SCOPE, server.receive, server.send)
    assert hub.connections == 0


async def test_stopping_server_closes_its_sockets(application, hub) -> None:
    server = Stalled(request(1, "sleep", 0.1))
    task = asyncio.create_task(application()(SCOPE, server.receive, server.send))
    await until(lambda: hub.connections == 1)
    await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert hub.connections == 0


@pytest.mark.parametrize("headers", [{"origin": "https://evil.example"}, {"host": "evil.example"}])
async def test_a_foreign_origin_or_host_is_refused(application, headers) -> None:
    config = GateConfig(websocket_origins=("https://a.example",))
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    ws = PatientCommunicator(application(config), "/ws", headers=raw)
    connected, _ = await ws.connect()
    assert not connected


async def test_guard_gets_the_origin_of_the_socket(application) -> None:
    async with opened(application(), origin="https://a.example") as ws:
        for text in (request(1, "guarded"), f"[{request(1, 'guarded')}]"):
            await ws.send_to(text_data=text)
            assert "not for https://a.example" in await ws.receive_from()
    async with opened(application()) as ws:
        await ws.send_to(text_data=request(1, "guarded"))
        assert await ws.receive_from() == NUMBER_ANSWER


async def test_connection_above_the_process_limit_is_refused(application) -> None:
    app = application()
    async with opened(app), opened(app), opened(app):
        ws = PatientCommunicator(app, "/ws")
        assert (await ws.connect())[0]
        closed = await ws.receive_output()
        assert (closed["code"], closed["reason"]) == (1013, "too many connections")


async def test_sockets_per_client_are_limited(registry, workers) -> None:
    config = GateConfig(proxies=TrustedProxies.of("127.0.0.1"))
    app = JsonRpcConsumer.as_asgi(
        endpoint=Endpoint(("/ws",), Dispatcher(registry), config),
        hub=Hub(HubLimits(of_client=1)),
        answering=Answering(workers),
    )
    first, second = ({"x-forwarded-for": address} for address in ("203.0.113.9", "203.0.113.10"))
    async with opened(app, **first):
        async with opened(app, **first) as ws:
            closed = await ws.receive_output()
            assert (closed["code"], closed["reason"]) == (1013, "too many connections")
        async with opened(app, **second) as ws:
            await ws.send_to(text_data=NUMBER)
            assert await ws.receive_from() == NUMBER_ANSWER
    async with opened(app, **first) as ws:
        await ws.send_to(text_data=NUMBER)
        assert await ws.receive_from() == NUMBER_ANSWER
