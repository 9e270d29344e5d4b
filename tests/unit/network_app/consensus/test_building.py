"""The conditions for building a block: the slot, the minimum delay, limits, and events meanwhile."""

import asyncio
from typing import Any

from chainvm.port import BlockContext
from network_app.snowman.parameters import SnowParameters
from tests.builders.chain_vm import GENESIS, TextBlock, text_block
from tests.builders.voting import NOW, PEERS, QUICK, SlotVM, Voter, until, virtually


def passed() -> float:
    """Return the seconds since the start."""
    return asyncio.get_running_loop().time()


def test_a_block_is_built_as_soon_as_there_is_something_to_put_into_it() -> None:
    async def run() -> None:
        async with Voter() as voter:
            await asyncio.sleep(0.55)
            voter.vm.waiting.append("a")
            voter.runner.blocks_waiting()
            await until(lambda: voter.peers.told("push_query"))
            assert passed() < 0.6
            ((_, push), *_) = voter.peers.told("push_query")
            assert push.container == text_block(GENESIS, "a").raw

    virtually(run())


def test_clock_finds_work_without_notification() -> None:
    async def run() -> None:
        async with Voter() as voter:
            await asyncio.sleep(0.5)
            voter.vm.waiting.append("a")
            await until(lambda: voter.peers.told("push_query"))
            assert 0.5 < passed() <= 2.1

    virtually(run())


def test_nothing_is_built_before_the_slot() -> None:
    async def run() -> None:
        vm = SlotVM(slot=1_000 * NOW + 10_340)
        vm.waiting.append("a")
        async with Voter(vm) as voter:
            await asyncio.sleep(10.3)
            assert "build" not in vm.calls
            await until(lambda: voter.peers.told("push_query"))
            assert 10.339 < passed() < 10.36
            assert [context.milliseconds for context in vm.contexts][:1] == [1_000 * NOW + 10_340]

    virtually(run())


def test_node_without_slot_builds_nothing() -> None:
    async def run() -> None:
        vm = SlotVM(slot=None)
        vm.waiting.append("a")
        async with Voter(vm, minimum_delay=3) as voter:
            await asyncio.sleep(20.0)
            assert "build" not in vm.calls
            assert set(vm.delays) == {3}
            vm.slot = 0  # as after a block of another node
            await until(lambda: voter.peers.told("push_query"))

    virtually(run())


def test_foreign_block_can_advance_the_own_slot() -> None:
    async def run() -> None:
        vm = SlotVM(slot=1_000 * (NOW + 60))
        vm.waiting.append("mine")
        async with Voter(vm) as voter:
            other = text_block(GENESIS, "other")
            await asyncio.sleep(3.3)
            vm.slot = 0
            await voter.hear(PEERS[0], _push(other))
            await until(lambda: voter.peers.told("push_query"))
            assert passed() < 3.4
            (_, push) = voter.peers.told("push_query")[0]
            assert vm.parse(push.container) == text_block(other, "mine")

    virtually(run())


def test_transactions_beyond_one_block_go_into_the_next() -> None:
    async def run() -> None:
        vm = SlotVM(waiting=["a", "b", "c"])
        async with Voter(vm) as voter:
            await until(lambda: len({push.container for _, push in _pushes(voter)}) == 3)
            assert passed() < 0.1

    virtually(run())


def test_while_many_blocks_are_processing_nothing_is_built() -> None:
    async def run() -> None:
        few = SnowParameters(
            QUICK.k, QUICK.alpha_preference, QUICK.alpha_confidence, QUICK.beta, 1,
            optimal_processing=2,
        )  # fmt: skip
        vm = SlotVM(waiting=["a", "b", "c"])
        async with Voter(vm, parameters=few) as voter:
            await asyncio.sleep(5.0)
            assert _texts(voter) == {"a", "b"}
            await voter.accept(text_block(GENESIS, "a"), GENESIS)
            await until(lambda: _texts(voter) == {"a", "b", "c"})

    virtually(run())


def test_transaction_during_building_triggers_another_block() -> None:
    async def run() -> None:
        vm = SlotVM(slowness=0.05)
        async with Voter(vm) as voter:
            await until(lambda: "build" in vm.calls)  # no transaction is pending
            late = passed()
            voter.runner.blocks_waiting()
            vm.waiting.append("a")
            await until(lambda: voter.peers.told("push_query"))
            assert passed() < late + 0.6  # before the next check by the clock

    virtually(run())


def test_chain_that_cannot_build_is_retried_by_the_clock_only() -> None:
    async def run() -> None:
        vm = Failing(waiting=["a"])
        async with Voter(vm) as voter:
            await asyncio.sleep(5.5)
            assert 4 <= voter.runner.report().totals.failed_builds <= 7

    virtually(run())


class Failing(SlotVM):
    """A chain that fails to build."""

    def build(self, context: BlockContext, *, allow_empty: bool = False) -> TextBlock | None:
        raise ZeroDivisionError


def _push(block: TextBlock) -> Any:
    from network_app.wire.p2p_pb2 import PushQuery

    return PushQuery(request_id=77, container=block.raw, requested_height=block.height)


def _pushes(voter: Voter) -> list[Any]:
    return voter.peers.told("push_query")


def _texts(voter: Voter) -> set[str]:
    return {voter.vm.parse(push.container).text for _, push in _pushes(voter)}
