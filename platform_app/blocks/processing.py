"""The P-Chain's processing blocks: each verified on its parent's state, which may be undecided itself.

A block's state is a diff over its parent's, down to the accepted state; nothing is written (pchain.md 5,
snowman.md 14.5). What is accepted comes out as steps, which the store writes: a proposal is written
together with the option that decides it, so an accepted proposal is held here until then.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from chainvm.processing import NotProcessing, ProcessingTree
from platform_app.blocks import errors
from platform_app.blocks.block import (
    Block,
    CommitBlock,
    OptionBlock,
    ProposalBlock,
    build_options,
)
from platform_app.blocks.builder import Built, build
from platform_app.blocks.executor import Options, Parent, execute_block, verify_child
from platform_app.executor.env import Env
from platform_app.state.chain import ChainState, StateChanges
from platform_app.state.diff import Diff
from platform_app.txs.base import Tx
from primitives.ids import ID


class Step(NamedTuple):
    """What is accepted at once, and what it changes.

    Several blocks are a proposal and its option, of which one alone is never stored.
    """

    blocks: tuple[Block, ...]
    changes: StateChanges


class Decision(NamedTuple):
    """What became of blocks by an acceptance."""

    steps: tuple[Step, ...]
    """To be written, in order."""
    rejected: tuple[Block, ...]
    """Each parent before its children."""


@dataclass(slots=True)
class Entry:
    """A verified block and the state after it."""

    block: Block
    outcome: Diff | Options
    """Of a proposal both outcomes; an option has the one of them that it chooses."""


class ProcessingBlocks:
    """Verifies and builds on any block that is not rejected. One thread at a time.

    Args:
        last_accepted: The last accepted block, or what is remembered of it.
        state: The state after it.
    """

    def __init__(self, last_accepted: Parent, state: ChainState) -> None:
        self._tree: ProcessingTree[Entry] = ProcessingTree(last_accepted.block_id)
        self._last: Parent = last_accepted
        self._state = state
        self._proposal: Entry | None = None
        """The last accepted block while it is a proposal that waits for its option."""

    def __len__(self) -> int:
        return len(self._tree)

    def __contains__(self, block_id: ID) -> bool:
        return block_id in self._tree

    @property
    def last_accepted(self) -> ID:
        """The last accepted block; a proposal counts, though its rows come with its option."""
        return self._tree.last_accepted

    @property
    def preference(self) -> ID:
        """The block that `build` builds on."""
        return self._tree.preference

    def get(self, block_id: ID) -> Block | None:
        """Return a processing block, or the accepted proposal whose option is undecided."""
        entry = self._entry(block_id)
        return None if entry is None else entry.block

    def verify(self, block: Block, env: Env) -> None:
        """Verify a block on its parent; from then on it is processing. Once more changes nothing.

        Raises:
            InvalidBlock: By a subclass: it breaks a rule. `UnknownParent`: its parent is neither
                processing nor the last accepted block.
        """
        if block.block_id in self._tree:
            return
        parent, parent_entry = self._parent_of(block)
        verify_child(block, parent)
        if isinstance(block, OptionBlock):
            assert parent_entry is not None, "a parent without its outcomes is no proposal"
            outcome: Diff | Options = _chosen(block, parent_entry)
        else:
            outcome = execute_block(block, self._state_after(parent_entry), env)
        self._tree.add(block.block_id, block.parent_id, Entry(block, outcome))

    def verify_line(self, line: Sequence[Block], env: Env) -> None:
        """Verify blocks that follow each other, as `verify` does: all of them become processing, or none.

        Each is executed on all changes of those before it in one diff, not in one on top of the other: so the
        last one of a long line costs no more than the first.

        Raises:
            InvalidBlock: By a subclass: one of them breaks a rule, or follows another block.
        """
        added: list[Entry] = []
        try:
            self._verify_line(line, env, added)
        except Exception:
            if added:
                self._tree.reject(added[0].block.block_id)
            raise
        for entry in added:
            if not isinstance(entry.block, OptionBlock):  # its outcome is its proposal's
                _rebase(entry, self._state_after(self._parent_of(entry.block)[1]))

    def options(self, block: Block) -> tuple[Block, Block] | None:
        """Return commit and abort of a proposal; None of any other block.

        Nothing may follow a proposal from before Banff, which has no time.
        """
        if not isinstance(block, ProposalBlock) or block.time is None:
            return None
        return build_options(block)

    def state_after(self, block_id: ID) -> ChainState | None:
        """Return the state that a child of a block is verified on.

        None of a proposal, and of a block that is not here any more. While an accepted proposal waits for
        its option the proposal's parent is.
        """
        if self._proposal is not None and self._proposal.block.parent_id == block_id:
            return self._state
        entry = self._entry(block_id)
        if entry is None:
            return self._state if block_id == self._tree.last_accepted else None
        return entry.outcome if isinstance(entry.outcome, Diff) else None

    def prefer(self, block_id: ID) -> None:
        """Build on this block from now on.

        Raises:
            NotProcessing: It is neither processing nor the last accepted one.
        """
        self._tree.prefer(block_id)

    def build(self, waiting: Iterable[Tx], env: Env) -> Built:
        """Build a block on the preferred one and make it processing, if there is anything to put in.

        What is in undecided ancestors is left out. What the rules refuse here may hold on another
        branch: it can never be accepted only where the preferred block is the last accepted one.

        Raises:
            NoProposal: The preferred block is a proposal: only its options follow it.
        """
        preferred = self._tree.preference
        entry = self._entry(preferred)
        if entry is not None and isinstance(entry.block, ProposalBlock):
            raise errors.NoProposal
        included = {tx.tx_id for one in self._tree.line(preferred) for tx in one.block.txs}
        offered = (tx for tx in waiting if tx.tx_id not in included) if included else waiting
        parent = self._last if entry is None else entry.block
        built = build(parent, self._state_after(entry), offered, env)
        # Building is deterministic: what was built before and not decided is built again.
        if built.block is not None and built.block.block_id not in self._tree:
            assert built.outcome is not None
            new = Entry(built.block, built.outcome)
            self._tree.add(built.block.block_id, preferred, new)
        return built

    def accept(self, block_ids: Sequence[ID]) -> Decision:
        """Accept processing blocks, each a child of the one before it; their rivals are rejected.

        Once the steps are written `rebase` puts the rest on the new state. Until then it reads through
        what was accepted, which shows the same.

        Raises:
            NotProcessing: One is not processing or follows another block; those before it are accepted.
        """
        steps: list[Step] = []
        rejected: list[Block] = []
        for block_id in block_ids:
            entry = self._tree.get(block_id)
            if entry is None:
                raise NotProcessing(block_id)
            rejected += [one.block for one in self._tree.accept(block_id)]
            steps += self._step(entry)
        return Decision(tuple(steps), tuple(rejected))

    def reject(self, block_id: ID) -> tuple[Block, ...]:
        """Forget a block and all that follow it; return them, each parent before its children.

        Raises:
            NotProcessing: It is not processing.
        """
        return tuple(entry.block for entry in self._tree.reject(block_id))

    def rebase(self, state: ChainState) -> None:
        """Put what is processing on the accepted state as it is stored now.

        Exact because the rows equal what the accepted diffs showed. While an accepted proposal waits
        for its option nothing has been stored, and only its own outcomes move.
        """
        self._state = state
        if self._proposal is not None:
            _rebase(self._proposal, state)
            return
        for block_id in self._tree.children(self._tree.last_accepted):
            entry = self._tree.get(block_id)
            assert entry is not None
            _rebase(entry, state)

    def begin_at(self, last_accepted: Parent, state: ChainState) -> None:
        """Forget everything and begin anew: after a restart, or a commit that failed."""
        self._tree.begin_at(last_accepted.block_id)
        self._last, self._state, self._proposal = last_accepted, state, None

    def _verify_line(self, line: Sequence[Block], env: Env, added: list[Entry]) -> None:
        before: Diff | None = None
        for place, block in enumerate(line):
            if place:
                verify_child(block, line[place - 1])
            if block.block_id in self._tree:
                continue
            parent, parent_entry = self._parent_of(block)
            verify_child(block, parent)
            if isinstance(block, OptionBlock):
                assert parent_entry is not None, "a parent without its outcomes is no proposal"
                outcome: Diff | Options = _chosen(block, parent_entry)
            else:
                before = before or Diff(self._state_after(parent_entry))
                outcome = execute_block(block, before, env)
            added.append(Entry(block, outcome))
            self._tree.add(block.block_id, block.parent_id, added[-1])
            if before is not None and isinstance(outcome, Diff):
                outcome.apply(before)

    def _step(self, entry: Entry) -> list[Step]:
        self._last = entry.block
        if isinstance(entry.outcome, Options):
            self._proposal = entry
            return []
        blocks: tuple[Block, ...] = (entry.block,)
        if self._proposal is not None:
            blocks = (self._proposal.block, entry.block)
            self._proposal = None
        self._state = entry.outcome
        return [Step(blocks, entry.outcome.changes())]

    def _entry(self, block_id: ID) -> Entry | None:
        """Return what is kept of a block: processing, or accepted and not written yet."""
        if self._proposal is not None and self._proposal.block.block_id == block_id:
            return self._proposal
        return self._tree.get(block_id)

    def _parent_of(self, block: Block) -> tuple[Parent, Entry | None]:
        entry = self._entry(block.parent_id)
        if entry is not None:
            return entry.block, entry
        if block.parent_id != self._tree.last_accepted:
            raise errors.UnknownParent(self._tree.last_accepted, block.parent_id)
        return self._last, None

    def _state_after(self, entry: Entry | None) -> ChainState:
        if entry is None:
            return self._state
        assert isinstance(entry.outcome, Diff), "only options follow a proposal"
        return entry.outcome


def _chosen(option: OptionBlock, proposal: Entry) -> Diff:
    assert isinstance(proposal.outcome, Options)
    commit, abort = proposal.outcome
    return commit if isinstance(option, CommitBlock) else abort


def _rebase(entry: Entry, state: ChainState) -> None:
    outcomes = entry.outcome if isinstance(entry.outcome, Options) else (entry.outcome,)
    for outcome in outcomes:
        outcome.rebase(state)
