"""Pointers (chain events): every event loop that follows a chain gets them, in every profile."""

import asyncio
import contextlib
import gc
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest
import redis
from channels.layers import get_channel_layer

from chaindb import events as module
from chaindb.chains import C_CHAIN, P_CHAIN
from chaindb.events import ChainEvents, Message, group_of
from chaindb.servers import WatchedServer

BOTH = (P_CHAIN, C_CHAIN)
MEMORY_LAYER = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}


@pytest.fixture
def embedded() -> ChainEvents:
    return ChainEvents("embedded")


@pytest.fixture
def production(settings: Any, monkeypatch: pytest.MonkeyPatch) -> ChainEvents:
    settings.CHANNEL_LAYERS = MEMORY_LAYER
    there = WatchedServer(
        "Redis", "here", lambda: None, str
    )  # so a failure is the layer's own fault
    monkeypatch.setattr(module, "redis_server", lambda: there)
    return ChainEvents("production")


@pytest.fixture
def own_layer(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Return a function that installs another channel layer."""

    def put(layer: Any) -> None:
        monkeypatch.setattr(module, "get_channel_layer", lambda: layer)

    return put


async def heard(inbox: "asyncio.Queue[Message]") -> Message:
    return await asyncio.wait_for(inbox.get(), 60)


async def joined(layer: Any, chain: str, members: int) -> None:
    while len(layer.groups.get(group_of(chain), ())) < members:
        await asyncio.sleep(0)


async def test_every_bound_loop_gets_each_message(embedded: ChainEvents) -> None:
    mine: asyncio.Queue[Message] = asyncio.Queue()
    theirs: list[Message] = []
    told = threading.Event()

    def hear(message: Message) -> None:
        theirs.append(message)
        told.set()

    other = asyncio.new_event_loop()
    thread = threading.Thread(target=other.run_forever)
    thread.start()
    unbinds = [
        embedded.bind(asyncio.get_running_loop(), mine.put_nowait, BOTH),
        embedded.bind(other, hear, BOTH),
    ]
    try:
        embedded.send(C_CHAIN, {"type": "x", "number": 1})
        assert await heard(mine) == {"type": "x", "number": 1, "chain": C_CHAIN}
        assert await asyncio.to_thread(told.wait, 60)
        assert theirs == [{"type": "x", "number": 1, "chain": C_CHAIN}]
    finally:
        for unbind in unbinds:
            unbind()
        other.call_soon_threadsafe(other.stop)
        thread.join()
        other.close()


async def test_loop_receives_events_of_bound_chains(embedded: ChainEvents) -> None:
    inbox: asyncio.Queue[Message] = asyncio.Queue()
    unbind = embedded.bind(asyncio.get_running_loop(), inbox.put_nowait, [P_CHAIN])
    embedded.send(C_CHAIN, {"type": "c"})
    embedded.send(P_CHAIN, {"type": "p"})
    assert await heard(inbox) == {"type": "p", "chain": P_CHAIN}
    unbind()


async def test_two_nodes_of_one_process_have_separate_events(embedded: ChainEvents) -> None:
    other = ChainEvents("embedded")
    mine: asyncio.Queue[Message] = asyncio.Queue()
    theirs: asyncio.Queue[Message] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    embedded.bind(loop, mine.put_nowait, BOTH)
    other.bind(loop, theirs.put_nowait, BOTH)
    embedded.send(C_CHAIN, {"type": "mine"})
    other.send(C_CHAIN, {"type": "theirs"})
    heads = (await heard(mine), await heard(theirs))
    assert [head["type"] for head in heads] == ["mine", "theirs"]
    assert mine.empty()
    assert theirs.empty()


async def test_unbound_loop_receives_nothing(embedded: ChainEvents) -> None:
    inbox: asyncio.Queue[Message] = asyncio.Queue()
    embedded.bind(asyncio.get_running_loop(), inbox.put_nowait, BOTH)()
    embedded.send(C_CHAIN, {"type": "c"})
    await asyncio.sleep(0)
    assert inbox.empty()


def test_closed_loop_is_dropped(embedded: ChainEvents) -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    before = embedded._listeners
    embedded.bind(loop, lambda message: None, BOTH)
    embedded.send(C_CHAIN, {"type": "c"})
    assert embedded._listeners == before


async def test_production_events_use_channel_groups(production: ChainEvents) -> None:
    layer: Any = get_channel_layer()
    inboxes: list[asyncio.Queue[Message]] = [asyncio.Queue(), asyncio.Queue()]
    loop = asyncio.get_running_loop()
    unbinds = [
        production.bind(loop, inboxes[0].put_nowait, BOTH),
        production.bind(loop, inboxes[1].put_nowait, [P_CHAIN]),
    ]
    await joined(layer, P_CHAIN, 2)
    await joined(layer, C_CHAIN, 1)
    production.send(C_CHAIN, {"type": "c", "hash": b"\1"})
    production.send(P_CHAIN, {"type": "p"})
    assert [await heard(inboxes[0]) for _ in range(2)] == [
        {"type": "c", "hash": b"\1", "chain": C_CHAIN}, {"type": "p", "chain": P_CHAIN},
    ]  # fmt: skip
    assert await heard(inboxes[1]) == {"type": "p", "chain": P_CHAIN}
    for unbind in unbinds:
        unbind()
    while any(layer.groups.values()):
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    "failure",
    [
        (ValueError("broken"), [("ERROR", True)]),
        # A connection opened before an outage; the failure is noticed after its end.
        (redis.ConnectionError("Connection closed by server"), [("INFO", False)]),
    ],
)
async def test_in_production_a_layer_that_failed_is_joined_again(
    production: ChainEvents,
    own_layer: Callable[[Any], None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    failure: tuple[Exception, list[tuple[str, bool]]],
) -> None:
    error, logged = failure
    caplog.set_level("INFO", "chaindb.events")
    inner: Any = get_channel_layer()
    answers: list[Any] = [error]

    class Failing:
        """A layer that fails on the first message."""

        def __getattr__(self, name: str) -> Any:
            return getattr(inner, name)

        async def receive(self, channel: str) -> Any:
            if answers:
                raise answers.pop()
            return await inner.receive(channel)

    monkeypatch.setattr(module, "RETRY", 0)
    own_layer(Failing())
    inbox: asyncio.Queue[Message] = asyncio.Queue()
    unbind = production.bind(asyncio.get_running_loop(), inbox.put_nowait, [C_CHAIN])
    while answers:
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    await joined(inner, C_CHAIN, 1)
    await inner.group_send(group_of(C_CHAIN), {"type": "c"})
    assert await heard(inbox) == {"type": "c"}
    unbind()
    assert [(record.levelname, bool(record.exc_info)) for record in caplog.records] == logged


async def test_in_production_groups_are_joined_again_and_again(
    production: ChainEvents, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer: Any = get_channel_layer()
    monkeypatch.setattr(module, "REJOIN", 0)
    unbind = production.bind(asyncio.get_running_loop(), lambda message: None, [C_CHAIN])
    await joined(layer, C_CHAIN, 1)
    layer.groups.clear()  # as a layer does after a day
    await joined(layer, C_CHAIN, 1)
    unbind()


def test_a_worker_without_a_loop_sends_from_a_thread_of_its_own(
    production: ChainEvents, own_layer: Callable[[Any], None]
) -> None:
    sent = []
    told = threading.Event()

    class Recorder:
        """A layer that only sends."""

        async def group_send(self, group: str, message: Message) -> None:
            sent.append((group, message, threading.current_thread().name))
            told.set()

    own_layer(Recorder())
    production.send(P_CHAIN, {"type": "p"})
    assert told.wait(60)
    assert sent == [("pchain.events", {"type": "p", "chain": P_CHAIN}, "chain-events")]


def test_the_thread_that_sends_ends_with_its_node(
    production: ChainEvents, own_layer: Callable[[Any], None]
) -> None:
    threads: list[threading.Thread] = []
    told = threading.Event()

    class Recorder:
        """A layer that only sends."""

        async def group_send(self, group: str, message: Message) -> None:
            threads.append(threading.current_thread())
            told.set()

    own_layer(Recorder())
    node = ChainEvents("production")
    node.send(P_CHAIN, {"type": "p"})
    assert told.wait(60)
    del node
    gc.collect()
    (thread,) = threads
    thread.join(60)
    assert not thread.is_alive()


def test_a_message_that_is_not_sent_is_logged_and_forgiven(
    production: ChainEvents,
    own_layer: Callable[[Any], None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    logged = threading.Event()

    class Away:
        """A layer that is unavailable."""

        async def group_send(self, group: str, message: Message) -> None:
            raise ConnectionError("away")

    report = module._report

    def report_and_tell(sent: Future[None]) -> None:
        report(sent)
        logged.set()

    own_layer(Away())
    monkeypatch.setattr(module, "_report", report_and_tell)
    production.send(P_CHAIN, {"type": "p"})
    assert logged.wait(60)
    assert (
        "a block announcement was not sent; followers find the block at their next poll: away"
        in caplog.text
    )


async def test_following_ends_although_the_layer_swallows_that_once(
    production: ChainEvents, own_layer: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CANCEL_AGAIN", 0.01)
    waits, ended = asyncio.Event(), asyncio.Event()

    class Swallowing:
        async def new_channel(self) -> str:
            return "one"

        async def group_add(self, group: str, channel: str) -> None: ...

        async def group_discard(self, group: str, channel: str) -> None: ...

        async def receive(self, channel: str) -> Message:
            waits.set()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
            raise AssertionError

    own_layer(Swallowing())
    unbind = production.bind(asyncio.get_running_loop(), lambda _: None, BOTH)
    await asyncio.wait_for(waits.wait(), 60)

    unbind()

    await asyncio.wait_for(ended.wait(), 60)
