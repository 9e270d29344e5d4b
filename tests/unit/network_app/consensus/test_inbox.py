"""What waits is told in the order of each sender; senders take turns."""

import asyncio

from network_app.consensus.inbox import Arrival, Inbox
from network_app.snowman.engine import Engine
from tests.builders.voting import PEERS


async def _nothing(_: object) -> None:
    pass


def named(name: str) -> Arrival:
    async def work(_: Engine) -> None:  # type: ignore[type-arg]
        raise NotImplementedError

    work.__name__ = name
    return Arrival(work)


async def taken(inbox: Inbox) -> list[str]:
    return [(await inbox.take()).work.__name__ for _ in range(len(inbox))]


async def test_senders_take_turns() -> None:
    inbox = Inbox()
    for name in ("a1", "a2", "a3"):
        inbox.add(PEERS[0], named(name))
    inbox.add(PEERS[1], named("b1"))
    inbox.add(PEERS[2], named("c1"))
    inbox.add(PEERS[1], named("b2"))
    assert len(inbox) == 6
    assert await taken(inbox) == ["a1", "b1", "c1", "a2", "b2", "a3"]
    assert len(inbox) == 0


async def test_who_takes_waits_for_something_to_come() -> None:
    inbox = Inbox()
    waiting = asyncio.create_task(inbox.take())
    await asyncio.sleep(0)
    assert not waiting.done()
    arrival = named("a")
    inbox.add(PEERS[0], arrival)
    assert await waiting is arrival


async def test_what_is_forgotten_lets_go_who_waits_for_it() -> None:
    inbox = Inbox()
    loop = asyncio.get_running_loop()
    given_up, waiting = loop.create_future(), loop.create_future()
    given_up.cancel()
    inbox.add(PEERS[0], Arrival(_nothing, None, given_up))
    inbox.add(PEERS[0], Arrival(_nothing, None, waiting))
    inbox.add(PEERS[1], Arrival(_nothing))
    inbox.clear()
    await waiting
    assert len(inbox) == 0
