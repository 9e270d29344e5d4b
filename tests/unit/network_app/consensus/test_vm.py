"""A blocking VM as the engine sees it: calls in the thread, rejections, and effects of a commit."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from chainvm.port import BlockContext, HeadMoved, Written
from network_app.consensus.vm import BuildOutcome, ThreadedVM, VotedChain
from network_app.proposervm.errors import NotOurSlot
from network_app.proposervm.ports import Proposal
from network_app.snowman.topological import VoteDecision
from primitives.ids import ID
from tests.builders.chain_vm import GENESIS, TextBlock, text_block
from tests.builders.voting import CHAIN, NOW, OWN, SlotVM

A = text_block(GENESIS, "a")
RIVAL = text_block(GENESIS, "rival")
B = text_block(A, "b")


@dataclass
class Watched(SlotVM):
    """A VM that records the calls of `accept`, and raises errors chosen by the test."""

    runs: list[list[ID]] = field(default_factory=list)
    raises: Exception | None = None

    def accept(self, block_ids: Sequence[ID], *, written: Written) -> None:
        self.runs.append(list(block_ids))
        super().accept(block_ids, written=written)

    def verify(self, block: TextBlock, context: BlockContext) -> None:
        if self.raises is not None:
            raise self.raises
        super().verify(block, context)

    def build(self, context: BlockContext, *, allow_empty: bool = False) -> TextBlock | None:
        if self.raises is not None:
            raise self.raises
        return super().build(context, allow_empty=allow_empty)


@dataclass
class Heard:
    """An observer that records events."""

    told: list[Any] = field(default_factory=list)

    seconds: list[float] = field(default_factory=list)

    def issued(self, block: TextBlock, proposal: Proposal, seconds: float, *, is_own: bool) -> None:
        assert proposal == Proposal()
        self.seconds.append(seconds)
        self.told.append(("issued", block.text))

    def decided(self, decisions: Sequence[VoteDecision], seconds: float) -> None:
        self.seconds.append(seconds)
        self.told.append(("decided", [decision.accepted for decision in decisions]))

    def built(self, outcome: BuildOutcome) -> None:
        self.told.append(("built", outcome))


class Case:
    """A VM with its wrapper, and the IDs of blocks passed to `written`."""

    def __init__(self) -> None:
        self.vm = Watched()
        self.heard = Heard()
        self.written: list[ID] = []
        chain: VotedChain[TextBlock] = VotedChain(
            "P",
            CHAIN,
            self.vm,
            self.vm.run,
            lambda: NOW + 0.9,
            minimum_delay=1,
            written=self.written.append,
        )
        self.threaded = ThreadedVM(chain, self.heard)

    async def begun(self) -> "Case":
        assert await self.threaded.begin() == GENESIS
        self.vm.calls.clear()
        return self


async def test_processing_block_is_returned_without_the_thread() -> None:
    case = await Case().begun()
    assert await case.threaded.verify(A)
    assert case.vm.calls == ["verify"]
    assert await case.threaded.get_block(A.block_id) is A
    assert await case.threaded.get_block(GENESIS.block_id) == GENESIS
    assert case.vm.calls == ["verify"]
    assert await case.threaded.get_block(B.block_id) is None
    assert case.vm.calls == ["verify", "get_block"]


async def test_a_block_that_the_chain_refuses_is_not_processing() -> None:
    case = await Case().begun()
    assert not await case.threaded.verify(text_block(GENESIS, "invalid"))
    assert not await case.threaded.verify(B)  # its parent is unknown
    assert case.heard.told == []


async def test_a_block_over_which_the_chain_fails_is_refused_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    case = await Case().begun()
    assert await case.threaded.parse(A.raw + b"\xff") is None  # invalid text
    case.vm.raises = ZeroDivisionError()
    assert not await case.threaded.verify(A)
    assert await case.threaded.build() is None
    assert case.threaded.last_build is BuildOutcome.FAILED
    assert len([record for record in caplog.records if record.exc_info]) == 3


async def test_malformed_block_parses_to_none() -> None:
    case = await Case().begun()
    assert await case.threaded.parse(b"nothing") is None
    assert await case.threaded.parse(A.raw) == A


async def test_a_chain_that_another_process_has_moved_ends_the_engine() -> None:
    case = await Case().begun()
    case.vm.raises = HeadMoved()
    with pytest.raises(HeadMoved):
        await case.threaded.verify(A)
    with pytest.raises(HeadMoved):
        await case.threaded.build()


async def test_build_outcomes_are_reported() -> None:
    case = await Case().begun()
    assert await case.threaded.build() is None
    case.vm.waiting = ["a"]
    assert await case.threaded.build() == A
    case.vm.raises = NotOurSlot(3, OWN)
    assert await case.threaded.build() is None
    outcomes = [BuildOutcome.NOTHING, BuildOutcome.BLOCK, BuildOutcome.NOT_NOW]
    assert case.heard.told == [("built", outcome) for outcome in outcomes]
    assert await case.threaded.delay() == 0
    case.vm.slot = 1_000 * NOW + 1_234
    assert await case.threaded.delay() == 334  # it is 0.9 s after NOW
    case.vm.slot = None
    assert await case.threaded.delay() is None
    assert case.vm.delays == [1, 1, 1]


async def test_all_blocks_of_one_step_are_accepted_together() -> None:
    case = await Case().begun()
    for block in (A, RIVAL, B):
        assert await case.threaded.verify(block)
    accepted: list[TextBlock] = []
    case.threaded.on_accepted.append(accepted.append)
    await case.threaded.decide(
        [
            VoteDecision(A.block_id, GENESIS.block_id, (RIVAL.block_id,)),
            VoteDecision(B.block_id, A.block_id, ()),
        ]
    )
    assert case.vm.runs == [[A.block_id, B.block_id]]
    assert case.written == [A.block_id, B.block_id]
    assert accepted == [A, B]
    assert case.heard.told[-1] == ("decided", [A.block_id, B.block_id])
    assert await case.threaded.get_block(RIVAL.block_id) is None
    assert await case.threaded.get_block(B.block_id) is B


async def test_cancelled_commit_is_announced_first() -> None:
    case = await Case().begun()
    await case.threaded.verify(A)
    committed, may_end = asyncio.Event(), asyncio.Event()
    run = case.vm.run

    async def run_long(work: Callable[..., Any], /, *args: object) -> Any:
        done = await run(work, *args)
        committed.set()
        await may_end.wait()
        return done

    case.threaded.run = run_long  # type: ignore[method-assign]
    deciding = asyncio.create_task(
        case.threaded.decide([VoteDecision(A.block_id, GENESIS.block_id, ())])
    )
    await committed.wait()
    deciding.cancel()
    await asyncio.sleep(0)
    assert not deciding.done()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await deciding
    assert case.heard.told[-1] == ("decided", [A.block_id])


async def test_failed_commit_is_not_announced() -> None:
    case = await Case().begun()
    await case.threaded.verify(A)
    case.vm.fails = True
    accepted: list[TextBlock] = []
    case.threaded.on_accepted.append(accepted.append)
    with pytest.raises(OSError, match="the disk is full"):
        await case.threaded.decide([VoteDecision(A.block_id, GENESIS.block_id, ())])
    assert accepted == []
    assert case.heard.told == [("issued", "a")]
    assert await case.threaded.begin() == GENESIS
    assert await case.threaded.get_block(A.block_id) is None


async def test_preference_is_set_on_change_and_after_decisions() -> None:
    case = await Case().begun()
    await case.threaded.verify(A)
    for _ in range(3):
        await case.threaded.set_preference(A.block_id)
    assert case.vm.calls.count("set_preference") == 1
    await case.threaded.decide([VoteDecision(A.block_id, GENESIS.block_id, ())])
    await case.threaded.set_preference(A.block_id)
    assert case.vm.calls.count("set_preference") == 2


@dataclass
class Asked(SlotVM):
    """A VM that records whether an empty block was requested."""

    asked: list[bool] = field(default_factory=list)

    def build(self, context: BlockContext, *, allow_empty: bool = False) -> TextBlock | None:
        self.asked.append(allow_empty)
        return super().build(context, allow_empty=allow_empty)


@pytest.mark.parametrize("by_clock", [True, False])
async def test_interval_mining_can_build_empty_blocks(*, by_clock: bool) -> None:
    vm = Asked()
    chain: VotedChain[TextBlock] = VotedChain(
        "C", CHAIN, vm, vm.run, lambda: NOW, allow_empty=by_clock
    )
    await ThreadedVM(chain, Heard()).build()
    assert vm.asked == [by_clock]


async def test_decision_is_on_disk_before_it_is_announced() -> None:
    vm, heard, flushed = SlotVM(), Heard(), list[tuple[int, int]]()
    chain: VotedChain[TextBlock] = VotedChain(
        "C",
        CHAIN,
        vm,
        vm.run,
        lambda: NOW,
        flush=lambda: flushed.append((len(vm.accepted), len(heard.told))),
    )
    threaded = ThreadedVM(chain, heard)
    await threaded.begin()
    await threaded.verify(A)
    await threaded.decide([VoteDecision(A.block_id, GENESIS.block_id, ())])
    assert flushed == [(2, 1)]
    assert heard.told == [("issued", "a"), ("decided", [A.block_id])]
