"""The proposer VM around a chain: outer blocks are built, verified and decided with their inner blocks."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from chainvm.errors import NotProcessing, UnknownParent
from chainvm.port import BlockContext
from network_app.proposervm.block import OuterBlock, OuterOptionBlock
from network_app.proposervm.epochs import EPOCH_DURATION
from network_app.proposervm.errors import (
    NotAnOuterBlock,
    NotOurSlot,
    NotWrapped,
    OuterBlockError,
    OuterBlockReason,
    OuterBlockTooEarly,
)
from network_app.proposervm.ports import Proposal
from network_app.proposervm.verification import ParentContext
from network_app.proposervm.vm import ProposerBlock
from network_app.proposervm.windower import WINDOW_DURATION, proposer_at
from primitives.ids import ID
from tests.builders.chain_vm import (
    GENESIS,
    InvalidTextBlock,
    TextBlock,
    text_block,
    time_of,
)
from tests.builders.outer_blocks import ALICE, BOB, CHAIN, NOW
from tests.builders.proposer_vm import Setup, Validators, other
from tests.builders.reasons import raises


def test_a_block_is_wrapped_and_signed_when_it_is_built() -> None:
    setup = Setup()
    first, second = setup.build("one", "two")
    assert first.proposer is None  # the child of a bare block has no proposer
    assert second.proposer == ALICE.node_id
    assert second.parent_id == first.block_id
    assert (first.height, second.height) == (1, 2)
    assert setup.vm.get_block(second.block_id) == second
    assert setup.rows.blocks == []


def test_built_blocks_are_accepted_by_a_follower() -> None:
    setup = Setup()
    blocks = setup.build("one", "two", "three")
    setup.accept(*blocks)
    follower = other(Setup())
    for block in blocks:
        parsed = follower.vm.parse(block.raw)
        assert parsed == block
        follower.vm.verify(parsed, BlockContext(NOW))
    assert follower.accept(*blocks) == [item.block_id for item in blocks]
    assert follower.rows.blocks == setup.rows.blocks
    assert follower.inner.accepted == setup.inner.accepted
    assert follower.vm.last_accepted() == blocks[-1].block_id


def test_a_block_of_another_time_has_another_id_around_the_same_block() -> None:
    setup = Setup()
    (early,) = setup.build("one")
    twin = other(Setup())
    (late,) = twin.build("one", now=NOW + 1)
    assert late.inner == early.inner
    setup.vm.verify(late, BlockContext(NOW + 1))
    assert len(setup.vm) == 2
    assert setup.inner.verified == [early.inner.block_id]  # verified once
    setup.accept(late)
    assert len(setup.vm) == 0
    assert setup.vm.last_accepted() == late.block_id
    assert setup.vm.preference == late.block_id


def test_child_of_a_rejected_outer_block_is_not_preferred() -> None:
    setup = Setup()
    (early, _) = setup.build("one", "two")
    (late,) = other(Setup()).build("one", now=NOW + 1)
    setup.vm.verify(late, BlockContext(NOW + 1))
    setup.accept(late)
    (next_one,) = setup.build("three", now=NOW + 1)
    assert next_one.inner.parent_id == early.inner.block_id
    assert next_one.height == 2


def test_nothing_is_built_where_nothing_waits() -> None:
    setup = Setup()
    assert setup.vm.build(BlockContext(NOW)) is None


def test_nothing_is_built_in_the_slot_of_another() -> None:
    setup = Setup(validators=Validators({BOB.node_id: 1}))
    setup.build("one")
    setup.inner.waiting.append("two")
    with pytest.raises(NotOurSlot, match=f"slot 0 belongs to {BOB.node_id}"):
        setup.vm.build(BlockContext(NOW))
    assert len(setup.vm) == len(setup.inner.tree) == 1


def test_block_without_validators_is_unsigned() -> None:
    setup = Setup(validators=Validators({}))
    _, second = setup.build("one", "two")
    assert second.proposer is None


def test_each_builds_in_its_slot_and_is_taken_by_the_other() -> None:
    weights = {ALICE.node_id: 3, BOB.node_id: 2}
    alice = Setup(validators=Validators(weights))
    bob = other(alice, BOB)
    (first,) = alice.build("one")
    alice.accept(first)
    bob.vm.verify(first, BlockContext(NOW))
    bob.accept(first)
    for slot in range(1, 8):
        owner = proposer_at(CHAIN, 2, slot, weights)
        builder, judge = (alice, bob) if owner == ALICE.node_id else (bob, alice)
        time = NOW + slot * WINDOW_DURATION
        builder.inner.waiting = [f"slot {slot}"]
        block = builder.vm.build(BlockContext(time))
        assert block is not None
        assert block.proposer == owner
        judge.vm.verify(block, BlockContext(time))
    assert len(alice.vm) == len(bob.vm) == 7


def test_a_block_of_another_slot_is_refused() -> None:
    setup = Setup()
    first, second = setup.build("one", "two")
    judge = other(Setup(validators=Validators({BOB.node_id: 1})))
    judge.vm.verify(first, BlockContext(NOW))
    with raises(OuterBlockReason.UNEXPECTED_PROPOSER, kind=OuterBlockError):
        judge.vm.verify(second, BlockContext(NOW))
    judge.validators.weights = {}
    with raises(OuterBlockReason.PROPOSER_MISMATCH, kind=OuterBlockError):
        judge.vm.verify(second, BlockContext(NOW))
    assert judge.inner.verified == [first.inner.block_id]


def test_a_block_on_an_unknown_parent_is_refused() -> None:
    _, second = Setup().build("one", "two")
    judge = Setup()
    with pytest.raises(UnknownParent):
        judge.vm.verify(second, BlockContext(NOW))


def test_outer_block_around_a_block_of_another_branch_is_refused() -> None:
    setup, twin = Setup(), Setup()
    (first,) = setup.build("one")
    (rival, child) = twin.build("two", "three")
    for block in (first, rival):
        if block.block_id not in setup.vm:
            setup.vm.verify(block, BlockContext(NOW))
    mixed = ProposerBlock(Setup().build("one", "four")[1].outer, child.inner)
    with raises(OuterBlockReason.WRONG_INNER_PARENT, kind=OuterBlockError):
        setup.vm.verify(mixed, BlockContext(NOW))


def test_block_with_invalid_inner_block_is_not_processing() -> None:
    setup = Setup()
    (block,) = setup.build("one")
    judge = Setup()
    invalid = ProposerBlock(block.outer, TextBlock(GENESIS.block_id, 1, 0, "invalid"))
    with pytest.raises(InvalidTextBlock, match="the text is invalid"):
        judge.vm.verify(invalid, BlockContext(NOW))
    assert len(judge.vm) == 0


def test_malformed_block_is_refused() -> None:
    setup = Setup()
    with raises(OuterBlockReason.OTHER_LAYOUT, kind=NotAnOuterBlock):
        setup.vm.parse(b"nothing")


def test_proposal_block_has_two_unsigned_options() -> None:
    setup = Setup()
    first, proposal = setup.build("one", "proposal")
    found = setup.vm.options(proposal)
    assert found is not None
    commit, abort = found
    assert isinstance(commit.outer, OuterOptionBlock)
    assert commit.proposer is None
    with raises(OuterBlockReason.NOT_AN_OPTION, kind=OuterBlockError):
        setup.vm.verify(
            ProposerBlock(abort.outer, TextBlock(proposal.inner.block_id, 3, 0, "no option")),
            BlockContext(NOW),
        )
    for option in found:
        setup.vm.verify(option, BlockContext(NOW))
        assert setup.vm.options(option) is None
    setup.accept(first, proposal, abort)
    assert commit.block_id not in setup.vm
    (child,) = setup.build("after")
    assert time_of(child) == NOW


def test_proposal_has_proposer_and_slot() -> None:
    setup = Setup()
    first, second = setup.build("one", "two")
    assert setup.vm.proposal(first).proposer is None
    assert setup.vm.proposal(second) == Proposal(ALICE.node_id, slot=0, time=NOW)
    rival = other(Setup())
    rival.build("one")
    (third,) = rival.build("another", now=NOW + WINDOW_DURATION - 1)
    setup.vm.verify(third, BlockContext(NOW + WINDOW_DURATION - 1))
    assert third.parent_id == second.parent_id
    assert setup.vm.proposal(third) == Proposal(
        ALICE.node_id, slot=0, time=NOW + WINDOW_DURATION - 1
    )


def test_an_option_is_signed_for_no_slot() -> None:
    setup = Setup()
    *_, proposal = setup.build("one", "proposal")
    found = setup.vm.options(proposal)
    assert found is not None
    setup.vm.verify(found[0], BlockContext(NOW))
    assert setup.vm.proposal(found[0]) == Proposal()


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


def test_rejected_outer_block_keeps_its_inner_block_for_siblings() -> None:
    setup = Setup()
    (early,) = setup.build("one")
    (late,) = other(Setup()).build("one", now=NOW + 1)
    setup.vm.reject(early.block_id)
    with pytest.raises(NotProcessing):
        setup.vm.reject(early.block_id)
    setup.vm.verify(late, BlockContext(NOW + 1))
    setup.accept(late)
    assert setup.inner.accepted[-1] == early.inner


def test_failed_commit_resets_to_the_stored_blocks() -> None:
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
        setup.vm.verify(block, BlockContext(NOW))
    setup.accept(second, third)


def test_block_accepted_by_another_process_is_noticed() -> None:
    setup = Setup()
    (block,) = setup.build("one")
    setup.accept(block)
    twin = other(setup)
    (rival,) = twin.build("rival")
    (second,) = setup.build("two")
    setup.accept(second)
    assert second.outer is not None
    twin.rows.write([(second.outer, 2)])
    twin.inner.accepted.append(second.inner)
    twin.inner.tree.reset(second.inner.block_id, None)
    assert twin.vm.last_accepted() == second.block_id
    assert rival.block_id not in twin.vm


def test_a_line_is_verified_whole_or_not_at_all() -> None:
    setup = Setup()
    blocks = setup.build("one", "two", "three")
    judge = Setup()
    invalid = ProposerBlock(blocks[1].outer, replace(blocks[1].inner, text="invalid"))
    with pytest.raises(InvalidTextBlock):
        judge.vm.verify_all(
            [blocks[0], invalid], [BlockContext(NOW)] * 2, outer=facts_of(judge, *blocks[:2])
        )
    assert len(judge.vm) == len(judge.inner.tree) == 0
    judge.vm.verify_all(blocks[:2], [BlockContext(NOW)] * 2)
    judge.vm.verify_all(blocks, [BlockContext(NOW)] * len(blocks))
    assert judge.accept(*blocks) == [item.block_id for item in blocks]
    assert judge.rows.blocks == [block.outer for block in blocks]


def test_outer_rules_are_verified_without_the_inner_block() -> None:
    blocks = Setup().build("one", "two")
    judge = Setup(validators=Validators({BOB.node_id: 1}))
    with raises(OuterBlockReason.UNEXPECTED_PROPOSER, kind=OuterBlockError):
        facts_of(judge, *blocks)
    past = facts_of(judge, *blocks, bootstrapping=True)
    assert [item.outer_id for item in past] == [block.block_id for block in blocks]
    assert len(judge.vm) == len(judge.inner.verified) == 0


def test_a_block_may_name_a_height_that_is_reached_by_then() -> None:
    (block,) = Setup(validators=Validators(height=8)).build("one")
    judge = Setup()
    with raises(OuterBlockReason.HEIGHT_NOT_REACHED, kind=OuterBlockTooEarly):
        facts_of(judge, block)
    assert facts_of(judge, block, reached=8)
    judge.validators.height = 8
    assert facts_of(judge, block)


def facts_of(
    judge: Setup, *blocks: ProposerBlock[TextBlock], bootstrapping: bool = False, reached: int = 0
) -> list[ParentContext]:
    """Verify the outer rules of blocks on top of the last accepted one."""
    found = [judge.vm.last]
    for block in blocks:
        found.append(
            judge.vm.verify_outer(
                block, found[-1], now=NOW, bootstrapping=bootstrapping, reached=reached
            )
        )
    return found[1:]


def test_outer_blocks_that_are_accepted_together_are_written_together() -> None:
    setup = Setup()
    pieces: list[int] = []
    write = setup.rows.write

    def note(blocks: Sequence[tuple[OuterBlock, int]]) -> None:
        pieces.append(len(blocks))
        write(blocks)

    setup.rows.write = note  # type: ignore[method-assign]
    setup.accept(*setup.build("one", "two", "three"))
    assert pieces == [3]
    (proposal,) = setup.build("proposal")
    setup.accept(proposal)  # this chain writes it immediately
    options = setup.vm.options(proposal)
    assert options is not None
    setup.vm.verify(options[1], BlockContext(NOW))
    setup.accept(options[1])
    assert pieces == [3, 1, 1]
    assert setup.rows.last().outer_id == options[1].block_id


def test_repeated_building_reads_no_block() -> None:
    setup = Setup()
    asked: list[ID] = []
    read = setup.rows.raw

    def note(block_id: ID) -> bytes | None:
        asked.append(block_id)
        return read(block_id)

    setup.rows.raw = note  # type: ignore[method-assign]
    for text in ("one", "two", "three"):
        assert setup.vm.get_block(setup.vm.last_accepted()) is not None
        setup.accept(*setup.build(text))
    assert asked == [GENESIS.block_id]


def test_block_without_outer_block_is_not_built_on() -> None:
    setup = Setup()
    setup.accept(*setup.build("one"))
    bare = text_block(setup.inner.accepted[-1], "bare")
    setup.inner.accepted.append(bare)
    setup.inner.tree.reset(bare.block_id, None)
    with pytest.raises(NotWrapped) as caught:
        setup.vm.last_accepted()
    assert caught.value.inner_id == bare.block_id


def test_rewound_rows_are_read_again_despite_equal_inner_block() -> None:
    setup = Setup()
    setup.accept(*setup.build("one"))
    (processing,) = setup.build("two")
    twin = other(Setup())
    twin.accept(*twin.build("one", now=NOW + 1))  # the same inner block with another outer time
    assert setup.vm.last.inner_id == twin.vm.last.inner_id
    setup.rows.blocks[:] = twin.rows.blocks
    assert (
        setup.vm.last_accepted() != twin.vm.last_accepted()
    )  # the replacement was not reported yet
    setup.rows.replaced = True

    assert setup.vm.last_accepted() == twin.vm.last_accepted()

    assert processing.block_id not in setup.vm
    setup.inner.tree.reset(setup.inner.accepted[-1].block_id, None)
    (child,) = setup.build("two")
    assert child.parent_id == twin.vm.last_accepted()


def test_the_inner_block_gets_the_height_of_the_epoch_when_built_and_when_verified() -> None:
    setup, follower = Setup(validators=Validators(height=7)), other(Setup())
    blocks = setup.build("one", "two", "three")
    setup.validators.height = 9
    blocks += setup.build("four", now=NOW + EPOCH_DURATION)
    blocks += setup.build("five", now=NOW + EPOCH_DURATION)
    heights = [entry.p_chain_height for entry in setup.inner.contexts]
    assert heights == [None, 7, 7, 7, 9]  # the first outer block's parent is bare
    assert [item.outer.p_chain_height for item in blocks] == [7, 7, 7, 9, 9]
    follower.validators.height = 9
    times = [NOW, NOW, NOW, NOW + EPOCH_DURATION, NOW + EPOCH_DURATION]
    follower.vm.verify_all(blocks[:3], [BlockContext(time, 99) for time in times[:3]])
    for block, time in zip(blocks[3:], times[3:], strict=True):
        follower.vm.verify(block, BlockContext(time))
    assert follower.inner.contexts == setup.inner.contexts
    assert [context.now for context in follower.inner.contexts] == times
    lacking = [context.lacks_height for context in setup.inner.contexts]
    assert lacking == [True, False, False, False, False]


def test_an_option_has_no_p_chain_height() -> None:
    setup = Setup()
    *_, proposal = setup.build("one", "proposal")
    found = setup.vm.options(proposal)
    assert found is not None
    setup.vm.verify(found[0], BlockContext(NOW))
    assert [context.p_chain_height for context in setup.inner.contexts] == [None, 7, None]
