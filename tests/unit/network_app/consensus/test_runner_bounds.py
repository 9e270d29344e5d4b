"""Limits of the memory and work that peers can cause in a chain's runner, and waits; time is virtual."""

import asyncio
from typing import Any

import pytest

from network_app.consensus.sender import MAX_PENDING, PendingBlocksLimit
from network_app.sync.budget import Turn
from network_app.wire import p2p_pb2 as p2p
from primitives.ids import ID
from tests.builders.chain_vm import GENESIS, TextBlock, text_block
from tests.builders.queries import STRANGERS, A, B, answers, nothing_processing, pull, push
from tests.builders.voting import PEERS, SlotVM, Voter, until, virtually


def test_expired_query_is_dropped() -> None:
    async def run() -> None:
        vm = SlotVM(slowness=0.5, slot=None)
        async with Voter(vm) as voter:
            await asyncio.sleep(5.0)
            waiting = [
                voter.hear(PEERS[0], push(text_block(GENESIS, f"{number}"), number, deadline=10**9))
                for number in range(100, 110)
            ]
            await asyncio.gather(*waiting)
            answered = [number for number in range(100, 110) if answers(voter, number)]
            assert answered
            assert len(answered) < 5
            assert len(vm.verified) == len(answered)

    virtually(run())


def test_unknown_peers_are_answered_without_delaying_validators() -> None:
    async def run() -> None:
        vm = SlotVM(slowness=0.01)
        async with Voter(vm) as voter:
            voter.peers.there += STRANGERS
            flood = [
                voter.hear(stranger, push(text_block(GENESIS, f"{at} {number}"), 1))
                for number in range(8)
                for at, stranger in enumerate(STRANGERS)
            ]
            await asyncio.sleep(0.5)
            began = asyncio.get_running_loop().time()
            await voter.hear(PEERS[0], pull(A, 2))
            assert asyncio.get_running_loop().time() - began < 0.25
            await asyncio.gather(*flood)
            assert any(one in STRANGERS for one, _ in voter.peers.told("chits"))

    virtually(run())


def test_flooding_validator_delays_only_itself() -> None:
    async def run() -> None:
        vm = SlotVM(slowness=0.01)
        async with Voter(vm) as voter:
            flood = [
                voter.hear(PEERS[0], push(text_block(GENESIS, f"{number}"), number))
                for number in range(100, 400)
            ]
            await asyncio.sleep(0.1)
            began = asyncio.get_running_loop().time()
            await voter.hear(PEERS[1], pull(A, 2))
            assert asyncio.get_running_loop().time() - began < 0.5
            assert not flood[-1].done()
            numbers = [one.request_id for to, one in voter.peers.told("chits") if to == PEERS[0]]
            assert numbers == sorted(numbers)

    virtually(run())


def test_flood_of_orphan_blocks_is_dropped() -> None:
    async def run() -> None:
        line = [TextBlock(_made_up(0), 1_000_000, 0, "whose parent is nowhere")]
        for number in range(MAX_PENDING + 10):
            line.append(text_block(line[-1], f"{number}"))
        async with Voter() as voter:
            await voter.hear(PEERS[0], push(line[-1]))
            most = 0
            for seen, block in enumerate(reversed(line[:-1])):
                if voter.runner.behind.is_set():
                    break
                await until(lambda at=seen: len(voter.peers.told("get")) > at)  # type: ignore[misc]
                asked, question = voter.peers.told("get")[seen]
                assert question.container_id == bytes(block.block_id)
                await voter.hear(
                    asked, p2p.Put(request_id=question.request_id, container=block.raw)
                )
                await asyncio.sleep(0.001)
                most = max(most, voter.runner.report().tables.pending)
            assert most == MAX_PENDING
            assert voter.runner.behind.is_set()
            tables = voter.runner.report().tables
            assert (tables.pending, tables.requests, tables.blockers) == (0, 0, 0)
            assert voter.vm.verified == []

    virtually(run())


def _made_up(height: int) -> ID:
    return ID(height.to_bytes(32, "big"))


def test_query_above_the_block_limit_is_answered_without_its_block() -> None:
    async def run() -> None:
        async with Voter() as voter:
            engine = voter.runner._engine
            assert engine is not None
            engine.pending.update(Waiting(MAX_PENDING, 0).pending)
            await voter.hear(PEERS[0], push(A, 2))
            await voter.hear(PEERS[0], pull(B, 3))
            assert answers(voter, 2) == answers(voter, 3) == [nothing_processing()]
            assert voter.vm.verified == []
            assert voter.peers.told("get") == []

    virtually(run())


def test_a_block_that_is_given_costs_its_bytes() -> None:
    async def run() -> None:
        large = text_block(GENESIS, "".join(chr(0x100 + (at * at) % 7919) for at in range(9999)))
        async with Voter() as voter:
            await voter.hear(PEERS[0], push(large))
            turn = Turn()
            question = p2p.Get(request_id=1, container_id=bytes(large.block_id))
            engine = voter.runner._engine
            assert engine is not None
            await voter.runner._questions.work_for(PEERS[0], question, turn)(engine)
            assert turn.size > 5_000
            voter.peers.full = set(PEERS)
            await voter.runner._questions.work_for(PEERS[0], question, turn)(engine)
            assert turn.size == 0  # it was not sent

    virtually(run())


class Waiting:
    """An engine, reduced to its pending blocks."""

    def __init__(self, count: int, size: int) -> None:
        self.pending = {
            _made_up(at): TextBlock(GENESIS.block_id, at, 0, "x" * size) for at in range(count)
        }


@pytest.mark.parametrize(
    ("count", "size", "is_left"),
    [(0, 0, True), (1023, 0, True), (1024, 0, False), (31, 2**21, True), (32, 2**21, False)],
)
def test_how_much_may_wait_for_parents(count: int, size: int, is_left: bool) -> None:  # noqa: FBT001
    full: list[bool] = []
    room = PendingBlocksLimit(PEERS.__contains__, lambda: full.append(True))
    engine: Any = Waiting(count, size)
    assert room.is_left(engine, STRANGERS[0]) is is_left
    assert not full  # messages of unknown peers never make this node bootstrap
    assert room.is_left(engine, PEERS[0]) is is_left
    assert bool(full) is not is_left
