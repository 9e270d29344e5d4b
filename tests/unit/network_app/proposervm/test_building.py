"""The proposer VM: the time at which a node builds a block."""

import pytest

from chainvm.port import BlockContext
from network_app.proposervm.block import SignedBlock
from network_app.proposervm.windower import WINDOW_DURATION, proposer_at
from primitives.ids import EMPTY_NODE_ID, NodeID
from tests.builders.outer_blocks import ALICE, BOB, CHAIN, NOW
from tests.builders.proposer_vm import Setup, Validators, other


def test_a_node_knows_since_when_it_may_build() -> None:
    weights = {ALICE.node_id: 3, BOB.node_id: 2}
    setup = Setup(validators=Validators(weights))
    moment = 1_000 * NOW + 345
    assert setup.vm.builds_from(moment) == moment  # every node may build the first block
    setup.accept(*setup.build("one"))
    owners = [proposer_at(CHAIN, 2, slot, weights) for slot in range(20)]
    assert set(owners) == set(weights)
    for slot in range(10):
        asked = moment + 1_000 * (slot * WINDOW_DURATION + 2)
        own = slot + owners[slot:].index(ALICE.node_id)
        begins = asked if own == slot else 1_000 * (NOW + own * WINDOW_DURATION)
        assert setup.vm.builds_from(asked) == begins
    setup.validators.weights = {BOB.node_id: 1}
    assert setup.vm.builds_from(moment) is None


def test_a_slot_is_that_of_the_time_which_the_chain_allows() -> None:
    setup = Setup(validators=Validators({ALICE.node_id: 3, BOB.node_id: 2}))
    setup.accept(*setup.build("one"))
    owners = [proposer_at(CHAIN, 2, slot, setup.validators.weights) for slot in range(40)]
    own = owners.index(ALICE.node_id, 1)
    foreign = owners.index(BOB.node_id, own)
    begins = 1_000 * (NOW + own * WINDOW_DURATION)
    for due in (begins, begins + 1_640, begins + 4_999):
        setup.inner.due = due
        assert setup.vm.builds_from(1_000 * NOW) == due
    # The chain allows a block only when the slot has ended.
    setup.inner.due = 1_000 * (NOW + foreign * WINDOW_DURATION) + 1
    after = owners.index(ALICE.node_id, foreign)
    assert setup.vm.builds_from(1_000 * NOW) == 1_000 * (NOW + after * WINDOW_DURATION)
    setup.inner.due = None
    assert setup.vm.builds_from(1_000 * NOW) is None


def test_the_minimum_delay_counts_from_the_outer_time() -> None:
    setup = Setup()
    setup.accept(*setup.build("one"))
    assert setup.vm.builds_from(1_000 * NOW + 345, minimum_delay=2) == 1_000 * (NOW + 2)
    assert setup.vm.builds_from(1_000 * NOW + 2_345, minimum_delay=2) == 1_000 * NOW + 2_345


def test_the_inner_block_is_built_at_the_millisecond() -> None:
    setup = Setup()
    setup.accept(*setup.build("one"))
    setup.inner.waiting = ["two"]
    block = setup.vm.build(BlockContext.at(1_000 * NOW + 345))
    assert block is not None
    assert isinstance(block.outer, SignedBlock)
    assert block.proposer == ALICE.node_id
    assert block.outer.time == NOW
    assert setup.inner.contexts[-1].milliseconds == 1_000 * NOW + 345


def test_blocks_that_every_node_may_build_at_one_moment_are_equal() -> None:
    unsigned = [Setup(validators=Validators({ALICE.node_id: 3, BOB.node_id: 2}))]
    unsigned.append(other(unsigned[0], BOB))
    ids = set()
    for milliseconds, setup in zip((345, 812), unsigned, strict=True):
        setup.inner.waiting = ["one"]
        block = setup.vm.build(BlockContext(NOW, fraction=milliseconds))
        assert block is not None
        assert setup.inner.contexts[-1].milliseconds == 1_000 * NOW
        ids.add(block.block_id)
    assert len(ids) == 1


@pytest.mark.parametrize(
    "weights", [{}, {EMPTY_NODE_ID: 1}, None], ids=["no proposers", "inactive", "first"]
)
@pytest.mark.parametrize(
    ("due", "asked", "begins"),
    [
        (0, 345, 345),
        (0, 2_000, 2_000),
        (1_640, 345, 2_000),
        (1_640, 1_345, 2_000),
        (1_640, 1_640, 2_000),
        (1_640, 1_999, 2_000),
        (1_640, 2_345, 2_345),
        (2_000, 345, 2_000),
        (4_999, 345, 5_000),
    ],
)
def test_an_unsigned_block_is_built_when_it_was_promised(
    weights: dict[NodeID, int] | None, due: int, asked: int, begins: int
) -> None:
    setup = Setup()
    if weights is not None:
        setup.accept(*setup.build("one"))
        setup.validators.weights = weights
    setup.inner.due = 1_000 * NOW + due
    setup.inner.waiting = ["two"]

    promised = setup.vm.builds_from(1_000 * NOW + asked)

    assert promised == 1_000 * NOW + begins
    block = setup.vm.build(BlockContext.at(promised))
    assert block is not None
    assert block.proposer is None
    assert setup.inner.contexts[-1].milliseconds >= setup.inner.due


def test_a_signed_block_is_built_when_it_was_promised() -> None:
    setup = Setup()
    setup.accept(*setup.build("one"))
    setup.inner.due = 1_000 * NOW + 1_640
    setup.inner.waiting = ["two"]

    promised = setup.vm.builds_from(1_000 * NOW + 345)

    assert promised == setup.inner.due
    block = setup.vm.build(BlockContext.at(promised))
    assert block is not None
    assert block.proposer == ALICE.node_id
    assert setup.inner.contexts[-1].milliseconds == setup.inner.due
