"""Pointers: every loop that follows a chain hears of it, whichever profile it is."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import pytest
from channels.layers import get_channel_layer

from chaindb import pointers
from chaindb.chains import Chain
from chaindb.servers import Server

MEMORY_LAYER = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}


@pytest.fixture
def embedded(settings: Any) -> None:
    settings.NODE = replace(settings.NODE, profile="embedded")


@pytest.fixture
def production(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.NODE = replace(settings.NODE, profile="production")
    settings.CHANNEL_LAYERS = MEMORY_LAYER
    there = Server("Redis", "here", lambda: None, str)  # so a layer that fails is itself at fault
    monkeypatch.setattr(pointers, "redis_server", lambda: there)


@pytest.fixture
def own_layer(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Put another channel layer in place."""

    def put(layer: Any) -> None:
        monkeypatch.setattr(pointers, "get_channel_layer", lambda: layer)

    return put


async def heard(inbox: "asyncio.Queue[pointers.Message]") -> pointers.Message:
    return await asyncio.wait_for(inbox.get(), 60)


async def joined(layer: Any, chain: Chain, members: int) -> None:
    while len(layer.groups.get(chain.group, ())) < members:
        await asyncio.sleep(0)


async def test_every_bound_loop_gets_each_message(embedded: None) -> None:
    mine: asyncio.Queue[pointers.Message] = asyncio.Queue()
    theirs: list[pointers.Message] = []
    told = threading.Event()

    def hear(message: pointers.Message) -> None:
        theirs.append(message)
        told.set()

    other = asyncio.new_event_loop()
    thread = threading.Thread(target=other.run_forever)
    thread.start()
    unbinds = [
        pointers.bind(asyncio.get_running_loop(), mine.put_nowait),
        pointers.bind(other, hear),
    ]
    try:
        pointers.send(Chain.C, {"type": "x", "number": 1})
        assert await heard(mine) == {"type": "x", "number": 1}
        assert await asyncio.to_thread(told.wait, 60)
        assert theirs == [{"type": "x", "number": 1}]
    finally:
        for unbind in unbinds:
            unbind()
        other.call_soon_threadsafe(other.stop)
        thread.join()
        other.close()


async def test_a_loop_hears_of_the_chains_that_it_asked_for(embedded: None) -> None:
    inbox: asyncio.Queue[pointers.Message] = asyncio.Queue()
    unbind = pointers.bind(asyncio.get_running_loop(), inbox.put_nowait, [Chain.P])
    pointers.send(Chain.C, {"type": "c"})
    pointers.send(Chain.P, {"type": "p"})
    assert await heard(inbox) == {"type": "p"}
    unbind()


async def test_nothing_comes_after_unbinding(embedded: None) -> None:
    inbox: asyncio.Queue[pointers.Message] = asyncio.Queue()
    pointers.bind(asyncio.get_running_loop(), inbox.put_nowait)()
    pointers.send(Chain.C, {"type": "c"})
    await asyncio.sleep(0)
    assert inbox.empty()


def test_a_closed_loop_is_forgotten(embedded: None) -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    before = pointers._listeners
    pointers.bind(loop, lambda message: None)
    pointers.send(Chain.C, {"type": "c"})
    assert pointers._listeners == before


async def test_in_production_messages_go_through_the_groups(production: None) -> None:
    layer: Any = get_channel_layer()
    inboxes: list[asyncio.Queue[pointers.Message]] = [asyncio.Queue(), asyncio.Queue()]
    loop = asyncio.get_running_loop()
    unbinds = [
        pointers.bind(loop, inboxes[0].put_nowait),
        pointers.bind(loop, inboxes[1].put_nowait, [Chain.P]),
    ]
    await joined(layer, Chain.P, 2)
    await joined(layer, Chain.C, 1)
    pointers.send(Chain.C, {"type": "c", "hash": b"\1"})
    pointers.send(Chain.P, {"type": "p"})
    assert [await heard(inboxes[0]) for _ in range(2)] == [
        {"type": "c", "hash": b"\1"}, {"type": "p"},
    ]  # fmt: skip
    assert await heard(inboxes[1]) == {"type": "p"}
    for unbind in unbinds:
        unbind()
    while any(layer.groups.values()):
        await asyncio.sleep(0)


async def test_in_production_a_layer_that_failed_is_joined_again(
    production: None, own_layer: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    inner: Any = get_channel_layer()
    answers: list[Any] = [ConnectionError("away")]

    class Failing:
        """A layer that fails at the first message."""

        def __getattr__(self, name: str) -> Any:
            return getattr(inner, name)

        async def receive(self, channel: str) -> Any:
            if answers:
                raise answers.pop()
            return await inner.receive(channel)

    monkeypatch.setattr(pointers, "RETRY", 0)
    own_layer(Failing())
    inbox: asyncio.Queue[pointers.Message] = asyncio.Queue()
    unbind = pointers.bind(asyncio.get_running_loop(), inbox.put_nowait, [Chain.C])
    while answers:
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    await joined(inner, Chain.C, 1)
    await inner.group_send(Chain.C.group, {"type": "c"})
    assert await heard(inbox) == {"type": "c"}
    unbind()


async def test_in_production_groups_are_joined_again_and_again(
    production: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer: Any = get_channel_layer()
    monkeypatch.setattr(pointers, "REJOIN", 0)
    unbind = pointers.bind(asyncio.get_running_loop(), lambda message: None, [Chain.C])
    await joined(layer, Chain.C, 1)
    layer.groups.clear()  # as a layer does after a day
    await joined(layer, Chain.C, 1)
    unbind()


def test_a_worker_without_a_loop_sends_from_a_thread_of_its_own(
    production: None, own_layer: Callable[[Any], None]
) -> None:
    sent = []
    told = threading.Event()

    class Recorder:
        """A layer that is only sent to."""

        async def group_send(self, group: str, message: pointers.Message) -> None:
            sent.append((group, message, threading.current_thread().name))
            told.set()

    own_layer(Recorder())
    pointers.send(Chain.P, {"type": "p"})
    assert told.wait(60)
    assert sent == [("pchain.pointers", {"type": "p"}, "pointers")]


def test_a_message_that_is_not_sent_is_logged_and_forgiven(
    production: None,
    own_layer: Callable[[Any], None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    logged = threading.Event()

    class Away:
        """A layer that is away."""

        async def group_send(self, group: str, message: pointers.Message) -> None:
            raise ConnectionError("away")

    report = pointers._report

    def report_and_tell(sent: Future[None]) -> None:
        report(sent)
        logged.set()

    own_layer(Away())
    monkeypatch.setattr(pointers, "_report", report_and_tell)
    pointers.send(Chain.P, {"type": "p"})
    assert logged.wait(60)
    assert "a pointer was not sent; followers find the block by their tick: away" in caplog.text
