"""The cost limits of answers to unknown peers. The clock is the event loop's or the test's."""

import asyncio
from collections.abc import Callable

from network_app.config import NetworkConfig
from network_app.sync.budget import AT_ONCE, STRANGERS_AT_ONCE, AnswerBudget, AnswerQuota, PeerSlots
from primitives.ids import NodeID

KNOWN, ONE, TWO = (NodeID(bytes([at]) * 20) for at in range(3))
CONFIG = NetworkConfig(
    network_id=12345,
    answer_bytes=1000,
    strangers_answer_bytes=2000,
    answer_time=0.25,
    strangers_answer_time=0.5,
)


class Clock:
    """A clock that a test advances."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def made(clock: Callable[[], float]) -> AnswerBudget:
    return AnswerBudget(CONFIG, PeerSlots(), lambda peer: peer == KNOWN, clock)


async def answered(
    budget: AnswerBudget, peer: NodeID, clock: Clock, *, size: int = 0, seconds: float = 0.0
) -> bool:
    """Answer a peer that waits less than a second; return whether it got an answer."""
    async with budget.turn(peer, clock.now + 1.0) as turn:
        if turn is None:
            return False
        turn.size = size
        clock.now += seconds
    return True


def test_debts_of_bytes_and_of_time_are_paid_by_waiting() -> None:
    purse = AnswerQuota(1000, 0.25, now=0.0)
    assert purse.wait(0.0) == 0.0
    purse.pay(3000, 0.0, now=0.0)
    assert purse.wait(0.0) == 2.0
    assert purse.wait(1.5) == 0.5
    purse.pay(0, 1.25, now=2.0)
    assert purse.wait(2.0) == 4.0


async def test_unknown_peer_is_refused_until_its_debt_is_paid() -> None:
    clock = Clock()
    budget = made(clock)
    assert await answered(budget, ONE, clock, size=3000)
    assert not await answered(budget, ONE, clock)
    clock.now += 2.0
    assert await answered(budget, ONE, clock)


async def test_threads_are_paid_for_as_bytes_are() -> None:
    clock = Clock()
    budget = made(clock)
    assert await answered(budget, ONE, clock, seconds=2.0)
    assert not await answered(budget, ONE, clock)


async def test_unknown_peers_share_one_budget() -> None:
    clock = Clock()
    budget = made(clock)
    strangers = [NodeID(bytes([9, at]) * 10) for at in range(20)]
    had = [await answered(budget, stranger, clock, size=5000) for stranger in strangers]
    assert had == [True] + [False] * 19


async def test_known_peers_are_always_answered() -> None:
    clock = Clock()
    budget = made(clock)
    assert await answered(budget, ONE, clock, size=1_000_000, seconds=60.0)
    assert not await answered(budget, TWO, clock)
    for _ in range(5):
        assert await answered(budget, KNOWN, clock, size=1_000_000, seconds=60.0)


async def test_unknown_peers_do_not_occupy_all_threads() -> None:
    budget, release = made(Clock()), asyncio.Event()
    inside = []

    async def hold(peer: NodeID) -> None:
        async with budget.turn(peer, 200.0):
            inside.append(peer)
            await release.wait()

    strangers = [NodeID(bytes([9, at]) * 10) for at in range(AT_ONCE + 1)]
    holding = [asyncio.create_task(hold(stranger)) for stranger in strangers]
    for _ in range(20):
        await asyncio.sleep(0)
    assert len(inside) == STRANGERS_AT_ONCE < AT_ONCE
    known = asyncio.create_task(hold(KNOWN))
    for _ in range(20):
        await asyncio.sleep(0)
    assert KNOWN in inside
    release.set()
    await asyncio.gather(known, *holding)


async def test_number_of_remembered_debts_is_limited() -> None:
    clock = Clock()
    budget = made(clock)
    for at in range(1100):
        await answered(budget, NodeID(at.to_bytes(20, "big")), clock)
    assert len(budget) == 1024


async def test_many_requests_of_one_peer_do_not_delay_another() -> None:
    budget, order = made(Clock()), list[NodeID]()

    async def ask(peer: NodeID) -> None:
        async with budget.turn(peer, 200.0):
            order.append(peer)
            await asyncio.sleep(0)

    greedy = [NodeID(bytes([9, at]) * 10) for at in range(3)]
    asking = [asyncio.create_task(ask(item)) for item in greedy for _ in range(8)]
    asking.append(asyncio.create_task(ask(ONE)))
    await asyncio.gather(*asking)
    assert order.index(ONE) <= len(greedy) + STRANGERS_AT_ONCE
    assert len(order) == 25


async def test_requests_of_an_unknown_peer_run_in_sequence() -> None:
    budget, release = made(Clock()), asyncio.Event()
    inside = []

    async def hold() -> None:
        async with budget.turn(ONE, 200.0):
            inside.append(ONE)
            await release.wait()

    holding = [asyncio.create_task(hold()) for _ in range(3)]
    for _ in range(20):
        await asyncio.sleep(0)
    assert len(inside) == 1
    release.set()
    await asyncio.gather(*holding)
    assert len(inside) == 3


async def test_answer_after_the_deadline_is_not_computed() -> None:
    clock = Clock()
    budget = made(clock)
    assert await answered(budget, ONE, clock, size=1900)
    async with asyncio.timeout(0.5):  # allowed after 0.9 seconds, when only 0.1 seconds are left
        assert not await answered(budget, ONE, clock)
    clock.now += 0.9
    assert await answered(budget, ONE, clock)
