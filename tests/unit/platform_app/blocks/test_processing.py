"""Processing blocks of the P-Chain: verified on undecided parents, decided in any order."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from chainvm.errors import InvalidBlock, NotProcessing, UnknownParent
from platform_app.blocks.block import (
    Block,
    CommitBlock,
    OptionBlock,
    ProposalBlock,
    build_options,
    build_standard,
    genesis_block,
    parse_block,
)
from platform_app.blocks.builder import build_on_preferred
from platform_app.blocks.errors import InvalidPlatformBlock, PlatformBlockReason
from platform_app.blocks.executor import ProposalOptions, execute_block
from platform_app.blocks.processing import AcceptanceResult, PlatformProcessingBlocks
from platform_app.config import UNIT, Env
from platform_app.state.stakers import Staker
from platform_app.txs.base import Tx
from platform_app.txs.staking import AddValidatorTx
from primitives.ids import ID
from tests.builders import platform
from tests.builders.platform_random import History, funded
from tests.builders.platform_state import ENV, MemoryState, changes_of, env, joined, staking, state
from tests.builders.reasons import raises, reason_of
from utxo.components import UTXO

GENESIS = genesis_block(b"genesis")
FIRST, SECOND = (platform.utxo(UNIT, number=number) for number in range(2))


def _spend(*utxos: object) -> Tx:
    return platform.signed(inputs=platform.spend_all(*utxos), outputs=())  # type: ignore[arg-type]


def _on(parent: Block, *txs: Tx, time: int = platform.NOW) -> Block:
    return build_standard(parent_id=parent.block_id, height=parent.height + 1, time=time, txs=txs)


def _processing(*blocks: Block, holder: MemoryState | None = None) -> PlatformProcessingBlocks:
    made = PlatformProcessingBlocks(GENESIS, holder or state(FIRST, SECOND))
    for block in blocks:
        made.verify(block, ENV)
    return made


def _proposed() -> tuple[PlatformProcessingBlocks, ProposalBlock]:
    """Return blocks with a proposal to reward a staker whose period is over."""
    holder = state(FIRST)
    leaving = joined(holder, staking(AddValidatorTx))
    holder.clock.time = leaving.end
    made = PlatformProcessingBlocks(GENESIS, holder)
    proposal = build_on_preferred(made, (), env(now=leaving.end)).block
    assert isinstance(proposal, ProposalBlock)
    return made, proposal


def test_a_block_is_verified_on_an_undecided_parent() -> None:
    parent = _on(GENESIS, _spend(FIRST))
    child = _on(parent, _spend(SECOND))
    made = _processing(parent, child)
    assert made.get(child.block_id) == child
    assert made.last_accepted == GENESIS.block_id


def test_utxo_spent_by_a_processing_ancestor_is_spent() -> None:
    parent = _on(GENESIS, _spend(FIRST))
    with raises(PlatformBlockReason.REFUSED_TX, kind=InvalidPlatformBlock):
        _processing(parent, _on(parent, _spend(FIRST)))


def test_siblings_may_spend_the_same() -> None:
    one = _on(GENESIS, _spend(FIRST))
    other = _on(GENESIS, _spend(FIRST), time=platform.NOW + 1)
    made = _processing(one, other)
    decision = made.accept([other.block_id])
    assert [step.blocks for step in decision.steps] == [(other,)]
    assert decision.rejected == (one,)
    assert len(made) == 0


def test_verifying_again_changes_nothing() -> None:
    block = _on(GENESIS, _spend(FIRST))
    assert len(_processing(block, block)) == 1


def test_a_block_on_an_unknown_parent_is_refused() -> None:
    with pytest.raises(UnknownParent):
        _processing(_on(_on(GENESIS, _spend(FIRST)), _spend(SECOND)))


def test_a_refused_block_is_not_processing() -> None:
    block = _on(GENESIS)
    made = PlatformProcessingBlocks(GENESIS, state())
    with raises(PlatformBlockReason.NO_STATE_CHANGES, kind=InvalidPlatformBlock):
        made.verify(block, ENV)
    assert block.block_id not in made
    with pytest.raises(NotProcessing):
        made.accept([block.block_id])


def test_building_twice_gives_the_block_that_is_processing() -> None:
    made = _processing()
    blocks = [build_on_preferred(made, [_spend(FIRST)], ENV).block for _ in range(2)]
    assert blocks[0] == blocks[1]
    assert len(made) == 1


def test_building_on_a_processing_block_omits_its_transactions() -> None:
    txs = [_spend(FIRST), _spend(SECOND)]
    parent = _on(GENESIS, txs[0])
    made = _processing(parent)
    made.prefer(parent.block_id)
    built = build_on_preferred(made, txs, ENV)
    assert built.block is not None
    assert (built.block.parent_id, built.block.txs) == (parent.block_id, (txs[1],))
    assert built.dropped == ()
    assert built.block.block_id in made


def test_blocks_that_follow_each_other_are_accepted_together() -> None:
    parent = _on(GENESIS, _spend(FIRST))
    child = _on(parent, _spend(SECOND))
    made = _processing(parent, child)
    decision = made.accept([parent.block_id, child.block_id])
    assert [step.blocks for step in decision.steps] == [(parent,), (child,)]
    assert made.preference == child.block_id


def test_a_rejected_block_takes_those_that_follow_it() -> None:
    parent = _on(GENESIS, _spend(FIRST))
    child = _on(parent, _spend(SECOND))
    made = _processing(parent, child)
    assert made.reject(parent.block_id) == (parent, child)
    assert made.preference == GENESIS.block_id


def test_a_proposal_is_written_with_the_option_that_decides_it() -> None:
    made, proposal = _proposed()
    commit, abort = build_options(proposal)
    assert made.options(proposal) == (commit, abort)
    for option in (commit, abort):
        made.verify(option, env(now=proposal.time))
    decision = made.accept([proposal.block_id])
    assert (decision.blocks, decision.steps, decision.rejected) == ((proposal,), (), ())
    assert made.last_accepted == proposal.block_id
    decision = made.accept([abort.block_id])
    assert [step.blocks for step in decision.steps] == [(proposal, abort)]
    assert decision.rejected == (commit,)


def test_an_option_is_verified_after_its_proposal_was_accepted() -> None:
    made, proposal = _proposed()
    commit, _ = build_options(proposal)
    made.accept([proposal.block_id])
    assert made.get(proposal.block_id) == proposal
    made.verify(commit, env(now=proposal.time))
    assert [step.blocks for step in made.accept([commit.block_id]).steps] == [(proposal, commit)]


def test_a_block_is_verified_on_the_state_after_its_parent() -> None:
    parent = _on(GENESIS, _spend(FIRST), time=platform.NOW + 1)
    made = _processing(parent)
    before, after = made.state_after(GENESIS.block_id), made.state_after(parent.block_id)
    assert before is not None
    assert after is not None
    assert (before.clock.timestamp(), after.clock.timestamp()) == (platform.NOW, platform.NOW + 1)
    assert made.state_after(ID(bytes(32))) is None
    made.accept([parent.block_id])
    assert made.state_after(GENESIS.block_id) is None
    assert made.state_after(parent.block_id) == after


def test_the_state_before_an_accepted_proposal_is_there_until_its_option_is() -> None:
    made, proposal = _proposed()
    before = made.state_after(proposal.parent_id)
    assert made.state_after(proposal.block_id) is None
    made.accept([proposal.block_id])
    assert made.state_after(proposal.parent_id) == before
    commit, _ = build_options(proposal)
    made.verify(commit, env(now=proposal.time))
    made.accept([commit.block_id])
    assert made.state_after(proposal.parent_id) is None


def test_nothing_but_options_follows_a_proposal() -> None:
    made, proposal = _proposed()
    made.prefer(proposal.block_id)
    with raises(PlatformBlockReason.NO_PROPOSAL, kind=InvalidPlatformBlock):
        build_on_preferred(made, (), ENV)
    with raises(PlatformBlockReason.NO_PROPOSAL, kind=InvalidPlatformBlock):
        made.verify(_on(proposal, _spend(FIRST), time=proposal.time), ENV)


def test_an_option_follows_nothing_but_a_proposal() -> None:
    parent = _on(GENESIS, _spend(FIRST))
    made = _processing(parent)
    _, proposal = _proposed()
    commit, _ = build_options(replace(proposal, raw=parent.raw))  # falsely with the parent's ID
    with raises(PlatformBlockReason.NO_PROPOSAL, kind=InvalidPlatformBlock):
        made.verify(commit, ENV)


class Superseded(MemoryState):
    """The state before an accepted block, which no processing block may read any longer."""

    def timestamp(self) -> int:
        raise AssertionError("the time of a superseded state was read")

    def utxo(self, utxo_id: ID) -> UTXO | None:
        raise AssertionError(f"output {utxo_id} of a superseded state was read")

    def current_stakers(self) -> Iterator[Staker]:
        raise AssertionError("the stakers of a superseded state were read")


class Tree:
    """A random tree of valid blocks, decided in a random order."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.state = funded()
        self.history = History(seed, self.state)
        self.blocks = PlatformProcessingBlocks(GENESIS, self.state)
        self.written: Block = GENESIS
        self.known: dict[ID, Block] = {}
        self.winners: list[tuple[Block, Env]] = []
        self.moments: dict[ID, Env] = {}
        self.restarts = self.rivals = 0

    def run(self, steps: int) -> None:
        actions = [self.build] * 6 + [self.accept] * 3 + [self.reject, self.restart]
        for _ in range(steps):
            self.random.choice(actions)()

    def processing(self) -> list[Block]:
        return [item for item in self.known.values() if item.block_id in self.blocks]

    def build(self) -> None:
        """Build on any block; for a proposal, verify its options too."""
        parents = [self.blocks.last_accepted, *(block.block_id for block in self.processing())]
        self.blocks.prefer(self.random.choice(parents))
        preferred = self.blocks.get(self.blocks.preference)
        if isinstance(preferred, ProposalBlock):
            return
        self.history.pass_time()
        moment = self.history.env()
        built = build_on_preferred(self.blocks, self.history.txs(3), moment)
        if built.block is None:
            return
        self._know(built.block, moment)
        for option in self.blocks.options(built.block) or ():
            self.blocks.verify(option, moment)
            self._know(option, moment)

    def accept(self) -> None:
        """Accept a child of the last accepted block and write the results."""
        children = [
            item for item in self.processing() if item.parent_id == self.blocks.last_accepted
        ]
        if not children:
            return
        chosen = self.random.choice(children)
        decision = self.blocks.accept([chosen.block_id])
        self.rivals += len(decision.rejected)
        before = self.state
        for step in decision.steps:
            self.state = self.state.copied()
            self.state.accept(step.diff)
            self.winners += [(block, self.moments[block.block_id]) for block in step.blocks]
            self.written = step.blocks[-1]
        self.history.state = self.state
        self.blocks.rebase(self.state)
        if self.state is not before:
            before.__class__ = Superseded

    def reject(self) -> None:
        """Reject any block, except the options of proposals."""
        chosen = [block for block in self.processing() if not isinstance(block, OptionBlock)]
        if chosen:
            self.blocks.reject(self.random.choice(chosen).block_id)

    def restart(self) -> None:
        """Forget everything that was not written."""
        if self.random.random() < 0.3:
            self.restarts += 1
            self.blocks.reset_to(self.written, self.state)

    def _know(self, block: Block, moment: Env) -> None:
        assert parse_block(block.raw) == block
        self.known[block.block_id] = block
        self.moments[block.block_id] = moment


def _straight(line: list[tuple[Block, Env]]) -> MemoryState:
    """Return the state after blocks executed one by one, without a tree."""
    reached = funded()
    outcome = None
    for block, moment in line:
        if isinstance(block, OptionBlock):
            assert isinstance(outcome, ProposalOptions)
            chosen = outcome.commit if isinstance(block, CommitBlock) else outcome.abort
            reached.accept(chosen)
            continue
        outcome = execute_block(block, reached, moment)
        if not isinstance(outcome, ProposalOptions):
            reached.accept(outcome)
    return reached


@pytest.mark.parametrize("seed", range(12))
def test_any_order_ends_in_the_state_of_the_winning_line(seed: int) -> None:
    tree = Tree(seed)
    tree.run(80)
    assert tree.state == _straight(tree.winners)


@pytest.mark.parametrize("seed", range(4))
def test_processing_branches_keep_their_changes_after_acceptance(seed: int) -> None:
    """Each undecided branch, verified again on the written state, makes the same changes."""
    tree = Tree(seed)
    tree.run(60)
    for leaf in tree.processing():
        line = [leaf]
        while (parent := tree.known.get(line[0].parent_id)) and parent.block_id in tree.blocks:
            line.insert(0, parent)
        if tree.blocks.last_accepted != tree.written.block_id:
            line.insert(0, tree.known[tree.blocks.last_accepted])
        anew = PlatformProcessingBlocks(tree.written, tree.state.copied())
        for block in line:
            anew.verify(block, tree.moments[block.block_id])
        ids = [block.block_id for block in line if block.block_id in tree.blocks]
        fresh = anew.accept([block.block_id for block in line])
        twin = Tree(seed)
        twin.run(60)
        assert _written(twin.blocks.accept(ids)) == _written(fresh)


@pytest.mark.parametrize("seed", range(6))
def test_branch_verified_at_once_equals_block_by_block(seed: int) -> None:
    tree = Tree(seed)
    tree.run(80)
    line, last = [block for block, _ in tree.winners], tree.winners[-1][1]
    ids = [block.block_id for block in line]
    one_by_one, at_once = (PlatformProcessingBlocks(GENESIS, funded()) for _ in range(2))
    for block in line:
        one_by_one.verify(block, last)
    at_once.verify_line(line[:3], [last] * 3)
    at_once.verify_line(line, [last] * len(line))
    for block_id in ids:
        states = [made.state_after(block_id) for made in (one_by_one, at_once)]
        assert len({state is None for state in states}) == 1
        if states[0] is not None and states[1] is not None:
            assert states[0].clock.timestamp() == states[1].clock.timestamp()
            for walk in ("current", "pending"):
                first, second = (list(getattr(state.stakers, walk)()) for state in states)
                assert first == second
    one, other = one_by_one.accept(ids), at_once.accept(ids)
    assert _written(one) == _written(other)
    assert one.rejected == other.rejected


def test_batch_with_an_invalid_block_adds_no_processing_block() -> None:
    parent = _on(GENESIS, _spend(FIRST))
    child, again = _on(parent, _spend(SECOND)), _on(parent, _spend(FIRST))
    made = _processing(parent)
    for line, refusal in (
        ([parent, again], PlatformBlockReason.REFUSED_TX),
        ([parent, child, _on(parent, _spend(SECOND))], UnknownParent),
        ([parent, child, _on(child)], PlatformBlockReason.NO_STATE_CHANGES),
    ):
        with pytest.raises(InvalidBlock) as caught:
            made.verify_line(line, [ENV] * len(line))
        assert reason_of(caught.value) is refusal
        assert len(made) == 1
    made.verify_line([parent, child], [ENV] * 2)
    assert len(made) == 2


def test_trees_have_rivals_restarts_and_proposals() -> None:
    trees = [Tree(seed) for seed in range(12)]
    for tree in trees:
        tree.run(80)
    assert sum(tree.rivals for tree in trees) > 10
    assert sum(tree.restarts for tree in trees) > 3
    assert any(isinstance(block, ProposalBlock) for tree in trees for block, _ in tree.winners)


def _written(result: AcceptanceResult) -> list[Any]:
    """Return the accepted blocks and their changes."""
    return [(step.blocks, changes_of(step.diff)) for step in result.steps]
