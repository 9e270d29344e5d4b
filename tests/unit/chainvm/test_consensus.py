"""A node that decides alone: a block is built, verified and accepted, or leaves no trace."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from chainvm.consensus import SoleConsensus
from chainvm.port import BlockContext, HeadMoved, Written
from primitives.ids import ID
from tests.builders.chain_vm import COMMIT, GENESIS, TextVM, text_block

Counted = list[tuple[int, bool]]


@pytest.fixture
def vm() -> TextVM:
    return TextVM()


@pytest.fixture
def counted() -> Counted:
    """Heights of blocks counted as outstanding, at the start and at the end of their construction."""
    return []


@pytest.fixture
def building(counted: Counted):
    @contextmanager
    def counting(height: int) -> Iterator[None]:
        counted.append((height, True))
        try:
            yield
        finally:
            counted.append((height, False))

    return counting


def test_a_block_is_built_and_accepted_at_once(vm, building, counted):
    vm.waiting = ["one", "two"]
    consensus = SoleConsensus(lambda: vm, building)
    made = [consensus.produce(now=1), consensus.produce(now=2), consensus.produce(now=3)]
    first = text_block(GENESIS, "one")
    assert made == [first, text_block(first, "two"), None]
    assert vm.accepted == [GENESIS, *made[:2]]
    assert counted == [(height, begun) for height in (1, 2, 3) for begun in (True, False)]


def test_a_proposal_is_accepted_with_the_option_that_is_preferred(vm, building):
    vm.waiting = ["proposal of something", "more"]
    made = SoleConsensus(lambda: vm, building).produce(now=1)
    assert made is not None
    assert (made.height, made.kind) == (2, COMMIT)
    assert [block.height for block in vm.accepted] == [0, 1, 2]


def test_sole_consensus_builds_on_the_last_accepted_block(vm, building):
    side = text_block(GENESIS, "side")
    vm.verify(side, BlockContext(0))
    vm.set_preference(side.block_id)
    vm.waiting = ["one"]
    assert SoleConsensus(lambda: vm, building).produce(now=1) == text_block(GENESIS, "one")
    assert len(vm.tree) == 0


def test_nothing_is_built_where_another_node_makes_the_blocks(vm, building, counted):
    vm.waiting = ["one"]
    consensus = SoleConsensus(lambda: vm, building, lambda: False)
    assert consensus.produce(now=7) is None
    assert not consensus.may_produce(1, 7)
    assert (vm.accepted, counted) == ([GENESIS], [])


def test_block_is_rebuilt_if_another_process_was_faster(vm, building, counted, monkeypatch):
    other = text_block(GENESIS, "another process's")
    accept = vm.accept

    def overtaken(block_ids: Sequence[ID], *, written: Written) -> None:
        if len(vm.accepted) == 1:
            vm.accepted.append(other)
            vm.tree.reset(other.block_id, None)
            raise HeadMoved
        accept(block_ids, written=written)

    monkeypatch.setattr(vm, "accept", overtaken)
    vm.waiting = ["one"]
    assert SoleConsensus(lambda: vm, building).produce(now=1) == text_block(other, "one")
    assert [height for height, begun in counted if begun] == [1, 2]


def test_build_failure_propagates_and_frees_the_lock(vm, building):
    vm.waiting, vm.fails = ["one"], True
    consensus = SoleConsensus(lambda: vm, building)
    with pytest.raises(OSError, match="the disk is full"):
        consensus.produce(now=1)
    vm.fails = False
    assert consensus.produce(now=1) == text_block(GENESIS, "one")
