"""The proposer VM around a chain: outer blocks are built, verified and decided with the blocks inside."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from chainvm.processing import NotProcessing, UnknownParent
from network_app.proposervm.block import OptionBlock
from network_app.proposervm.building import Signature
from network_app.proposervm.errors import (
    NotAnOption,
    NotAnOuterBlock,
    ProposerMismatch,
    UnexpectedProposer,
    WrongInnerParent,
)
from network_app.proposervm.vm import NotOurSlot, ProposerBlock, ProposerVM
from network_app.proposervm.windower import SLOT, proposer_at
from primitives.ids import ID, NodeID
from tests.builders.chain_vm import (
    GENESIS,
    InvalidTextBlock,
    OuterBlocksInMemory,
    TextBlock,
    TextVM,
    time_of,
)
from tests.builders.outer_blocks import ALICE, BOB, CHAIN, NOW, Node


@dataclass
class Validators:
    """Who validates, the same at all heights."""

    weights: dict[NodeID, int] = field(default_factory=lambda: {ALICE.node_id: 1})
    height: int = 7

    def current_height(self) -> int:
        return self.height

    def minimum_height(self, now: int) -> int:
        del now
        return self.height

    def proposers(self, height: int) -> Mapping[NodeID, int]:
        del height
        return self.weights


@dataclass
class Setup:
    """A node's chain, and what is behind it."""

    inner: TextVM = field(default_factory=TextVM)
    validators: Validators = field(default_factory=Validators)
    node: Node = ALICE

    def __post_init__(self) -> None:
        self.rows = OuterBlocksInMemory(self.inner)
        self.restart()

    def restart(self) -> None:
        self.inner.tree.begin_at(self.inner.accepted[-1].block_id)
        self.vm: ProposerVM[TextBlock] = ProposerVM(
            self.inner,
            self.rows,
            self.validators,
            node_id=self.node.node_id,
            signature=Signature(CHAIN, self.node.certificate, self.node.key),
        )

    def build(self, *texts: str, now: int = NOW) -> list[ProposerBlock[TextBlock]]:
        """Build a line of blocks, each on the one before."""
        found = []
        for text in texts:
            self.inner.waiting = [text]
            block = self.vm.build(now=now)
            assert block is not None
            self.vm.set_preference(block.block_id)
            found.append(block)
        return found

    def accept(self, *blocks: ProposerBlock[TextBlock]) -> list[ID]:
        """Accept blocks and return what was written."""
        written: list[ID] = []
        self.vm.accept([one.block_id for one in blocks], written=written.append)
        return written


def other(setup: Setup, node: Node = ALICE) -> Setup:
    """Return another node that has accepted the same."""
    found = Setup(TextVM(list(setup.inner.accepted)), setup.validators, node)
    found.rows.blocks += setup.rows.blocks
    found.restart()
    return found


def test_a_block_is_wrapped_and_signed_when_it_is_built() -> None:
    setup = Setup()
    first, second = setup.build("one", "two")
    assert first.proposer is None  # the child of a bare block is nobody's
    assert second.proposer == ALICE.node_id
    assert second.parent_id == first.block_id
    assert (first.height, second.height) == (1, 2)
    assert setup.vm.get_block(second.block_id) == second
    assert setup.rows.blocks == []


def test_others_take_what_was_built_and_have_the_same_rows() -> None:
    setup = Setup()
    blocks = setup.build("one", "two", "three")
    setup.accept(*blocks)
    follower = other(Setup())
    for block in blocks:
        parsed = follower.vm.parse(block.raw)
        assert parsed == block
        follower.vm.verify(parsed, now=NOW)
    assert follower.accept(*blocks) == [one.block_id for one in blocks]
    assert follower.rows.blocks == setup.rows.blocks
    assert follower.inner.accepted == setup.inner.accepted
    assert follower.vm.last_accepted() == blocks[-1].block_id


def test_a_block_of_another_time_has_another_id_around_the_same_block() -> None:
    setup = Setup()
    (early,) = setup.build("one")
    twin = other(Setup())
    (late,) = twin.build("one", now=NOW + 1)
    assert late.inner == early.inner
    setup.vm.verify(late, now=NOW + 1)
    assert len(setup.vm) == 2
    assert setup.inner.verified == [early.inner.block_id]  # looked at once
    setup.accept(late)
    assert len(setup.vm) == 0
    assert setup.vm.last_accepted() == late.block_id
    assert setup.vm.preference == late.block_id


def test_what_follows_a_rival_around_the_same_block_is_not_built_on() -> None:
    setup = Setup()
    (early, _) = setup.build("one", "two")
    (late,) = other(Setup()).build("one", now=NOW + 1)
    setup.vm.verify(late, now=NOW + 1)
    setup.accept(late)
    (next_one,) = setup.build("three", now=NOW + 1)
    assert next_one.inner.parent_id == early.inner.block_id
    assert next_one.height == 2


def test_nothing_is_built_where_nothing_waits() -> None:
    setup = Setup()
    assert setup.vm.build(now=NOW) is None


def test_nothing_is_built_in_the_slot_of_another() -> None:
    setup = Setup(validators=Validators({BOB.node_id: 1}))
    setup.build("one")
    setup.inner.waiting.append("two")
    with pytest.raises(NotOurSlot, match=f"slot 0 belongs to {BOB.node_id}"):
        setup.vm.build(now=NOW)
    assert len(setup.vm) == len(setup.inner.tree) == 1


def test_where_nobody_validates_blocks_are_unsigned() -> None:
    setup = Setup(validators=Validators({}))
    _, second = setup.build("one", "two")
    assert second.proposer is None


def test_each_builds_in_its_slot_and_is_taken_by_the_other() -> None:
    weights = {ALICE.node_id: 3, BOB.node_id: 2}
    alice = Setup(validators=Validators(weights))
    bob = other(alice, BOB)
    (first,) = alice.build("one")
    alice.accept(first)
    bob.vm.verify(first, now=NOW)
    bob.accept(first)
    for slot in range(1, 8):
        owner = proposer_at(CHAIN, 2, slot, weights)
        builder, judge = (alice, bob) if owner == ALICE.node_id else (bob, alice)
        time = NOW + slot * SLOT
        builder.inner.waiting = [f"slot {slot}"]
        block = builder.vm.build(now=time)
        assert block is not None
        assert block.proposer == owner
        judge.vm.verify(block, now=time)
    assert len(alice.vm) == len(bob.vm) == 7


def test_a_node_knows_since_when_it_may_build() -> None:
    weights = {ALICE.node_id: 3, BOB.node_id: 2}
    setup = Setup(validators=Validators(weights))
    assert setup.vm.builds_from(now=NOW) == NOW  # the first block is anybody's
    setup.accept(*setup.build("one"))
    owners = [proposer_at(CHAIN, 2, slot, weights) for slot in range(20)]
    assert set(owners) == set(weights)
    for slot in range(10):
        begins = setup.vm.builds_from(now=NOW + slot * SLOT + 2)
        own = slot + owners[slot:].index(ALICE.node_id)
        assert begins == NOW + (slot * SLOT + 2 if own == slot else own * SLOT)
    setup.validators.weights = {BOB.node_id: 1}
    assert setup.vm.builds_from(now=NOW) is None


def test_a_block_of_another_slot_is_refused() -> None:
    setup = Setup()
    first, second = setup.build("one", "two")
    judge = other(Setup(validators=Validators({BOB.node_id: 1})))
    judge.vm.verify(first, now=NOW)
    with pytest.raises(UnexpectedProposer):
        judge.vm.verify(second, now=NOW)
    judge.validators.weights = {}
    with pytest.raises(ProposerMismatch):
        judge.vm.verify(second, now=NOW)
    assert judge.inner.verified == [first.inner.block_id]
    judge.vm.bootstrapping = True
    judge.vm.verify(second, now=NOW)


def test_a_block_on_an_unknown_parent_is_refused() -> None:
    _, second = Setup().build("one", "two")
    judge = Setup()
    with pytest.raises(UnknownParent):
        judge.vm.verify(second, now=NOW)


def test_a_block_around_one_of_another_branch_is_refused() -> None:
    setup, twin = Setup(), Setup()
    (first,) = setup.build("one")
    (rival, child) = twin.build("two", "three")
    for block in (first, rival):
        if block.block_id not in setup.vm:
            setup.vm.verify(block, now=NOW)
    mixed = ProposerBlock(Setup().build("one", "four")[1].outer, child.inner)
    with pytest.raises(WrongInnerParent):
        setup.vm.verify(mixed, now=NOW)


def test_what_the_chain_refuses_is_not_processing() -> None:
    setup = Setup()
    (block,) = setup.build("one")
    judge = Setup()
    invalid = ProposerBlock(block.outer, TextBlock(GENESIS.block_id, 1, 0, "invalid"))
    with pytest.raises(InvalidTextBlock, match="the text is invalid"):
        judge.vm.verify(invalid, now=NOW)
    assert len(judge.vm) == 0


def test_bytes_that_are_no_block() -> None:
    setup = Setup()
    with pytest.raises(NotAnOuterBlock):
        setup.vm.parse(b"nothing")


def test_a_proposal_has_two_options_that_nobody_signs() -> None:
    setup = Setup()
    first, proposal = setup.build("one", "proposal")
    found = setup.vm.options(proposal)
    assert found is not None
    commit, abort = found
    assert isinstance(commit.outer, OptionBlock)
    assert commit.proposer is None
    with pytest.raises(NotAnOption):
        setup.vm.verify(
            ProposerBlock(abort.outer, TextBlock(proposal.inner.block_id, 3, 0, "no option")),
            now=NOW,
        )
    for option in found:
        setup.vm.verify(option, now=NOW)
        assert setup.vm.options(option) is None
    setup.accept(first, proposal, abort)
    assert commit.block_id not in setup.vm
    (child,) = setup.build("after")
    assert time_of(child) == NOW


def test_accepted_blocks_are_found_by_id_and_height() -> None:
    setup = Setup()
    blocks = setup.build("one", "two", "three")
    setup.accept(*blocks[:2])
    for block in blocks:
        assert setup.vm.get_block(block.block_id) == block
    assert setup.vm.get_block_id_at_height(0) == GENESIS.block_id
    assert setup.vm.get_block_id_at_height(2) == blocks[1].block_id
    assert setup.vm.get_block_id_at_height(3) is None
    genesis = setup.vm.get_block(GENESIS.block_id)
    assert genesis == ProposerBlock(None, GENESIS)
    assert (genesis.block_id, genesis.raw, genesis.proposer) == (
        GENESIS.block_id,
        GENESIS.raw,
        None,
    )
    assert setup.vm.get_block(blocks[0].inner.block_id) is None


def test_only_a_whole_line_is_accepted() -> None:
    setup = Setup()
    first, second = setup.build("one", "two")
    with pytest.raises(NotProcessing):
        setup.accept(second)
    with pytest.raises(NotProcessing):
        setup.vm.accept([ID(bytes(32))], written=print)
    assert setup.rows.blocks == []
    assert len(setup.vm) == 2
    setup.accept(first)
    with pytest.raises(NotProcessing):
        setup.accept(first)


def test_a_rejected_block_leaves_the_one_inside_to_others() -> None:
    setup = Setup()
    (early,) = setup.build("one")
    (late,) = other(Setup()).build("one", now=NOW + 1)
    setup.vm.reject(early.block_id)
    with pytest.raises(NotProcessing):
        setup.vm.reject(early.block_id)
    setup.vm.verify(late, now=NOW + 1)
    setup.accept(late)
    assert setup.inner.accepted[-1] == early.inner


def test_a_commit_that_fails_begins_anew_at_what_is_stored() -> None:
    setup = Setup()
    first, second, third = setup.build("one", "two", "three")
    setup.accept(first)
    setup.inner.fails = True
    with pytest.raises(OSError, match="the disk is full"):
        setup.accept(second)
    assert len(setup.vm) == 0
    assert setup.vm.last_accepted() == setup.vm.preference == first.block_id
    setup.inner.fails = False
    for block in (second, third):
        setup.vm.verify(block, now=NOW)
    setup.accept(second, third)


def test_what_another_process_has_accepted_is_seen() -> None:
    setup = Setup()
    (block,) = setup.build("one")
    setup.accept(block)
    twin = other(setup)
    (rival,) = twin.build("rival")
    (second,) = setup.build("two")
    setup.accept(second)
    twin.rows.write(second.outer, 2)
    twin.inner.accepted.append(second.inner)
    twin.inner.tree.begin_at(second.inner.block_id)
    assert twin.vm.last_accepted() == second.block_id
    assert rival.block_id not in twin.vm


class AnyOrder(RuleBasedStateMachine):
    """Any tree of blocks, decided in any order: rows are those of the accepted line alone."""

    def __init__(self) -> None:
        super().__init__()
        self.setup = Setup()
        self.known: list[ProposerBlock[TextBlock]] = []
        self.line: list[ProposerBlock[TextBlock]] = []
        self.count = 0

    def processing(self) -> list[ProposerBlock[TextBlock]]:
        return [one for one in self.known if one.block_id in self.setup.vm]

    @rule(data=st.data(), late=st.integers(0, 3), same=st.booleans())
    def build(self, data: Any, late: int, *, same: bool) -> None:
        parents = [one.block_id for one in self.processing()] + [self.setup.vm.last_accepted()]
        self.setup.vm.set_preference(data.draw(st.sampled_from(parents)))
        self.count += not same
        self.setup.inner.waiting = [f"{self.count}"]
        block = self.setup.vm.build(now=NOW + late)
        if block is None:  # an ancestor has the text
            assert same
            return
        self.known.append(block)

    @precondition(lambda self: self.processing())
    @rule(data=st.data())
    def accept(self, data: Any) -> None:
        last = self.setup.vm.last_accepted()
        children = [one for one in self.processing() if one.parent_id == last]
        block = data.draw(st.sampled_from(children))
        assert self.setup.accept(block) == [block.block_id]
        self.line.append(block)

    @precondition(lambda self: self.processing())
    @rule(data=st.data())
    def reject(self, data: Any) -> None:
        self.setup.vm.reject(data.draw(st.sampled_from(self.processing())).block_id)

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def verify_again(self, data: Any) -> None:
        block = data.draw(st.sampled_from(self.known))
        known = {one.block_id for one in self.processing()} | {self.setup.vm.last_accepted()}
        if block.parent_id in known:
            self.setup.vm.verify(self.setup.vm.parse(block.raw), now=NOW + 3)
            assert block.block_id in self.setup.vm
        elif block.block_id not in known:
            with pytest.raises(UnknownParent):
                self.setup.vm.verify(block, now=NOW + 3)

    @rule()
    def restart(self) -> None:
        self.setup.restart()

    @invariant()
    def rows_are_the_line(self) -> None:
        assert [one.outer_id for one in self.setup.rows.blocks] == [
            one.block_id for one in self.line
        ]
        assert self.setup.inner.accepted[1:] == [one.inner for one in self.line]
        last = self.line[-1].block_id if self.line else GENESIS.block_id
        assert self.setup.vm.last_accepted() == last


TestAnyOrder = AnyOrder.TestCase
