"""Queued messages are processed in the order of each sender; senders take turns."""

import asyncio

from network_app.consensus.questions import EngineEvent, MessageQueue
from network_app.snowman.engine import SnowmanEngine
from tests.builders.voting import PEERS


async def _nothing(_: object) -> None:
    pass


def named(name: str) -> EngineEvent:
    async def work(_: SnowmanEngine) -> None:  # type: ignore[type-arg]
        raise NotImplementedError

    work.__name__ = name
    return EngineEvent(work)


async def taken(queue: MessageQueue) -> list[str]:
    return [(await queue.take()).work.__name__ for _ in range(len(queue))]


async def test_senders_take_turns() -> None:
    queue = MessageQueue()
    for name in ("a1", "a2", "a3"):
        queue.add(PEERS[0], named(name))
    queue.add(PEERS[1], named("b1"))
    queue.add(PEERS[2], named("c1"))
    queue.add(PEERS[1], named("b2"))
    assert len(queue) == 6
    assert await taken(queue) == ["a1", "b1", "c1", "a2", "b2", "a3"]
    assert len(queue) == 0


async def test_take_waits_for_a_message() -> None:
    queue = MessageQueue()
    waiting = asyncio.create_task(queue.take())
    await asyncio.sleep(0)
    assert not waiting.done()
    arrival = named("a")
    queue.add(PEERS[0], arrival)
    assert await waiting is arrival


async def test_clearing_the_queue_releases_its_waiters() -> None:
    queue = MessageQueue()
    loop = asyncio.get_running_loop()
    given_up, waiting = loop.create_future(), loop.create_future()
    given_up.cancel()
    queue.add(PEERS[0], EngineEvent(_nothing, None, given_up))
    queue.add(PEERS[0], EngineEvent(_nothing, None, waiting))
    queue.add(PEERS[1], EngineEvent(_nothing))
    queue.clear()
    await waiting
    assert len(queue) == 0
