"""Calls that arrive while others are executed are gathered and executed together next."""

import asyncio
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from jsonrpc.dispatch.calls import DispatchLimits
from jsonrpc.dispatch.dispatcher import Body, Dispatcher
from jsonrpc.dispatch.params import Param
from jsonrpc.dispatch.registry import MethodRegistry
from jsonrpc.dispatch.workers import Workers
from jsonrpc.errors import InvalidParam, Overloaded
from jsonrpc.http import answering
from jsonrpc.http.answering import Answering, Gatherer
from jsonrpc.http.asgi_rpc import AsgiRpc
from jsonrpc.http.replies import Endpoint, by_path
from tests.unit.jsonrpc.test_endpoints import ask


def number(value: object) -> int:
    if not isinstance(value, int):
        raise InvalidParam("no number")
    return value


class Store:
    """A vectorized method that records how many calls came together, and waits for the test."""

    def __init__(self) -> None:
        self.pieces: list[list[int]] = []
        self.go = threading.Event()

    def put(self, arguments: list[tuple[Any, ...]]) -> list[object]:
        """Double each number."""
        self.pieces.append([value for (value,) in arguments])
        self.go.wait(60)
        return [ArithmeticError() if value < 0 else 2 * value for (value,) in arguments]


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def dispatcher(store: Store) -> Dispatcher:
    registry = MethodRegistry()
    registry.add("put", params=[Param("value", number)], vectorized=store.put)
    registry.add("hot", lambda: 1, hot=True)
    registry.add("plain", lambda: 1)
    for name, gathers in (("both", None), ("some", lambda params: b'"pending"' in params)):
        registry.add(name, vectorized=lambda calls: [1] * len(calls), hot=True, gathers=gathers)
    return Dispatcher(registry)


@pytest.fixture
def workers() -> Iterator[Workers]:
    made = Workers(2)
    yield made
    made.close()


class Client:
    """Sends bodies to the gatherer of an interface, after the interface has read them."""

    def __init__(self, dispatcher: Dispatcher, workers: Workers, seconds: float) -> None:
        self._dispatcher = dispatcher
        self._gatherer = Gatherer(dispatcher, workers, seconds)

    async def answer(self, text: bytes) -> bytes | None:
        body = Body(text)
        assert self._dispatcher.gathered_as(body) == "put"
        return await self._gatherer.answer(body)


@pytest.fixture
def gatherer(dispatcher: Dispatcher, workers: Workers) -> Client:
    return Client(dispatcher, workers, 60)


def put(value: object, identifier: object = 1) -> bytes:
    body = {"jsonrpc": "2.0", "id": identifier, "method": "put", "params": [value]}
    return json.dumps(body).encode()


async def started(store: Store) -> None:
    while not store.pieces:
        await asyncio.sleep(0.001)


async def test_calls_that_arrive_during_work_are_the_next_batch(
    store: Store, gatherer: Client
) -> None:
    first = asyncio.create_task(gatherer.answer(put(1, "a")))
    await started(store)
    others = [asyncio.create_task(gatherer.answer(put(n, n))) for n in range(2, 7)]
    await asyncio.sleep(0)
    store.go.set()

    assert await first == b'{"jsonrpc":"2.0","id":"a","result":2}'
    for n, other in enumerate(others, 2):
        assert json.loads(await other or b"") == {"jsonrpc": "2.0", "id": n, "result": 2 * n}
    assert store.pieces == [[1], [2, 3, 4, 5, 6]]


async def test_batches_are_executed_together_with_single_calls(
    store: Store, gatherer: Client
) -> None:
    first = asyncio.create_task(gatherer.answer(put(0)))
    await started(store)
    silent = b'{"jsonrpc":"2.0","method":"put","params":[6]}'
    bodies = [
        b"[" + put(1, "a") + b"," + put(-2, "b") + b"]",
        put(3, "c"),
        b"[" + silent + b"]",
        b"[" + put(4, "d") + b"," + silent + b"]",
    ]
    others = [asyncio.create_task(gatherer.answer(body)) for body in bodies]
    await asyncio.sleep(0)
    store.go.set()

    await first
    answers = await asyncio.gather(*others)
    assert store.pieces == [[0], [1, -2, 3, 6, 4, 6]]
    batch, single, nothing, last = (None if text is None else json.loads(text) for text in answers)
    assert [(item["id"], "error" in item) for item in batch] == [("a", False), ("b", True)]
    assert single["result"] == 6
    assert nothing is None
    assert [item["result"] for item in last] == [8]


async def test_a_group_is_bounded_by_its_bytes(
    store: Store, gatherer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answering, "MAX_TOGETHER_BYTES", 2 * len(put(1)))
    first = asyncio.create_task(gatherer.answer(put(0)))
    await started(store)
    others = [asyncio.create_task(gatherer.answer(put(number))) for number in range(1, 6)]
    await asyncio.sleep(0)
    store.go.set()

    await asyncio.gather(first, *others)
    assert store.pieces == [[0], [1, 2], [3, 4], [5]]


async def test_callers_answered_together_are_waited_for(
    store: Store, gatherer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answering, "LINGER_SECONDS", 60.0)
    store.go.set()
    await asyncio.gather(*(gatherer.answer(put(n)) for n in range(3)))

    first = asyncio.create_task(gatherer.answer(put(3)))
    second = asyncio.create_task(gatherer.answer(put(4)))
    await asyncio.sleep(0)
    assert len(store.pieces) == 1

    await asyncio.gather(gatherer.answer(put(5)), first, second)
    assert store.pieces == [[0, 1, 2], [3, 4, 5]]


async def test_missing_caller_is_not_waited_for_long(store: Store, gatherer: Client) -> None:
    store.go.set()
    await asyncio.gather(*(gatherer.answer(put(n)) for n in range(3)))

    await gatherer.answer(put(3))
    await gatherer.answer(put(4))

    assert store.pieces == [[0, 1, 2], [3], [4]]


async def test_invalid_gathered_call_fails_alone(
    store: Store, gatherer: Client, caplog: pytest.LogCaptureFixture
) -> None:
    store.go.set()
    bodies = [put(1), put("x"), put(-1), put(4, {}), put(5)]
    answers = [json.loads(a or b"") for a in await asyncio.gather(*map(gatherer.answer, bodies))]

    assert [answer.get("result") for answer in answers] == [2, None, None, None, 10]
    assert answers[1]["error"]["message"] == "invalid argument 0: no number"
    assert answers[2]["error"] == {"code": -32603, "message": "method handler crashed"}
    assert answers[3]["error"]["message"] == "invalid request"
    assert "method put crashed" in caplog.text


async def test_a_notification_is_executed_and_not_answered(store: Store, gatherer: Client) -> None:
    store.go.set()

    assert await gatherer.answer(b'{"jsonrpc":"2.0","method":"put","params":[3]}') is None
    assert store.pieces == [[3]]


async def test_cancelled_caller_does_not_affect_others(store: Store, gatherer: Client) -> None:
    first = asyncio.create_task(gatherer.answer(put(1)))
    await started(store)
    gone = asyncio.create_task(gatherer.answer(put(2)))
    stays = asyncio.create_task(gatherer.answer(put(3)))
    await asyncio.sleep(0)
    gone.cancel()
    store.go.set()

    await first
    assert json.loads(await stays or b"")["result"] == 6


async def test_too_many_that_wait_are_refused(
    store: Store, gatherer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answering, "MAX_WAITING", 1)
    first = asyncio.create_task(gatherer.answer(put(1)))
    await started(store)
    waits = asyncio.create_task(gatherer.answer(put(2)))
    await asyncio.sleep(0)

    with pytest.raises(Overloaded):
        await gatherer.answer(put(3))

    store.go.set()
    assert await first
    assert await waits


async def test_timeout_reaches_all_gathered_callers(
    store: Store, dispatcher: Dispatcher, workers: Workers
) -> None:
    hurried = Client(dispatcher, workers, 0.01)
    waiting = [asyncio.create_task(hurried.answer(put(n))) for n in range(2)]

    for task in waiting:
        with pytest.raises(TimeoutError):
            await task
    store.go.set()


async def test_raw_endpoint_gathers_calls(
    store: Store, dispatcher: Dispatcher, workers: Workers
) -> None:
    async def nowhere(*_: object) -> None:
        raise LookupError

    shared = Answering(workers)
    app = AsgiRpc(by_path([Endpoint(["/rpc"], dispatcher)]), nowhere, shared)
    gatherer, arrived = shared.gatherer(dispatcher, Body(put(1))), asyncio.Semaphore(0)
    assert gatherer is not None
    answer = gatherer.answer

    async def noted(body: Body) -> bytes | None:
        arrived.release()  # the waiting test resumes when this coroutine awaits its answer
        return await answer(body)

    gatherer.answer = noted  # type: ignore[method-assign]
    requests = [asyncio.create_task(ask(app, parts=(put(n, n),))) for n in range(4)]
    for _ in requests:
        await arrived.acquire()
    store.go.set()

    for n, request in enumerate(requests):
        answer = await request
        assert (answer.status, json.loads(answer.body)["result"]) == (200, 2 * n)
    assert len(store.pieces) <= 2


def test_endpoints_of_an_interface_share_one_gatherer_per_method(
    dispatcher: Dispatcher, workers: Workers
) -> None:
    shared, other = Answering(workers), Dispatcher(dispatcher.registry)
    some = b'{"jsonrpc":"2.0","id":1,"method":"some","params":["pending"]}'

    first = shared.gatherer(dispatcher, Body(put(1)))
    assert first is not None
    assert shared.gatherer(dispatcher, Body(put(2))) is first
    assert shared.gatherer(dispatcher, Body(some)) not in {first, None}
    assert shared.gatherer(other, Body(put(1))) not in {first, None}
    assert shared.gatherer(dispatcher, Body(b'{"jsonrpc":"2.0","id":1,"method":"hot"}')) is None


@pytest.mark.parametrize(
    ("body", "gathered"),
    [
        (put(1), "put"),
        (b'{"jsonrpc":"2.0","id":1,"method":"hot"}', None),
        (b'{"jsonrpc":"2.0","id":1,"method":"both"}', None),
        (b'{"jsonrpc":"2.0","id":1,"method":"some","params":["pending"]}', "some"),
        (b'{"jsonrpc":"2.0","id":1,"method":"some","params":["latest"]}', None),
        (b'{"jsonrpc":"2.0","id":1,"method":"some"}', None),
        (b'{"jsonrpc":"2.0","id":1,"method":"plain"}', None),
        (b'{"jsonrpc":"2.0","id":1,"method":"nothing"}', None),
        (b"[" + put(1) + b"]", "put"),
        (b"[" + put(1) + b", " + put(2) + b"]", "put"),
        (b"[" + put(1) + b', {"jsonrpc":"2.0","id":1,"method":"plain"}]', None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"hot"},' + put(1) + b"]", None),
        (b"[]", None),
        (b"{", None),
        (b"[", None),
        (put("x" * 70_000), None),
    ],
)
def test_only_bodies_of_one_gatherable_method_are_gathered(
    dispatcher: Dispatcher, body: bytes, gathered: str | None
) -> None:
    assert dispatcher.gathered_as(body) == gathered


def test_a_batch_that_is_too_long_is_not_gathered(dispatcher: Dispatcher) -> None:
    small = Dispatcher(dispatcher.registry, limits=DispatchLimits(batch=2))
    batches = [b"[" + b",".join([put(1)] * count) + b"]" for count in (2, 3)]
    assert [small.gathered_as(batch) for batch in batches] == ["put", None]
