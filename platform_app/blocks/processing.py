"""The P-Chain's processing blocks, each verified on its parent's state, which may be undecided too.

A block's state is a diff over its parent's, down to the accepted state; nothing is written (pchain.md 5,
snowman.md 14.5). Acceptance returns steps, which the store writes. A proposal is written together
with the option that decides it, so an accepted proposal is held here until then.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from chainvm.errors import NotProcessing
from chainvm.processing import ProcessingTree
from platform_app.blocks.block import Block, CommitBlock, OptionBlock, ProposalBlock, build_options
from platform_app.blocks.builder import BuiltBlock, build
from platform_app.blocks.errors import InvalidPlatformBlock, PlatformBlockReason, unexpected_parent
from platform_app.blocks.executor import Parent, ProposalOptions, execute_block, verify_child
from platform_app.config import Env
from platform_app.state.chain import ChainState, Diff
from platform_app.txs.base import Tx
from primitives.ids import ID


class WriteStep(NamedTuple):
    """Blocks that are written in one transaction, and their changes.

    Several blocks are a proposal and its option, because neither is ever stored alone.
    """

    blocks: tuple[Block, ...]
    diff: Diff


class AcceptanceResult(NamedTuple):
    """The blocks that an acceptance accepted and rejected."""

    steps: tuple[WriteStep, ...]
    """The accepted blocks, to be written in this order."""
    rejected: tuple[Block, ...]
    """The rejected blocks, each parent before its children."""


@dataclass(slots=True)
class ProcessingBlock:
    """A verified block and the state after it."""

    block: Block
    outcome: Diff | ProposalOptions
    """Both outcomes of a proposal; an option has the outcome that it chooses."""


class ProcessingBlocks:
    """Verifies and builds on any block that is not rejected. Not thread-safe.

    Args:
        last_accepted: The last accepted block, or its stored ID and height.
        state: The state after that block.
    """

    def __init__(self, last_accepted: Parent, state: ChainState) -> None:
        self._tree: ProcessingTree[ProcessingBlock] = ProcessingTree(last_accepted.block_id)
        self._last: Parent = last_accepted
        self._state = state
        self._proposal: ProcessingBlock | None = None
        """The last accepted block, if it is a proposal without an accepted option."""

    def __len__(self) -> int:
        return len(self._tree)

    def __contains__(self, block_id: ID) -> bool:
        return block_id in self._tree

    @property
    def last_accepted(self) -> ID:
        """The last accepted block; a proposal counts, although its rows are written with its option."""
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
        """Verify a block on its parent; if valid, it becomes processing. Repeating the call changes nothing.

        Raises:
            InvalidBlock: It breaks a rule; the reason says which. `UnknownParent`: its parent is neither
                processing nor the last accepted block.
        """
        if block.block_id in self._tree:
            return
        parent, parent_entry = self._parent_of(block)
        verify_child(block, parent)
        if isinstance(block, OptionBlock):
            assert parent_entry is not None, "a parent without its outcomes is no proposal"
            outcome: Diff | ProposalOptions = _chosen(block, parent_entry)
        else:
            outcome = execute_block(block, self._state_after(parent_entry), env)
        self._tree.add(block.block_id, block.parent_id, ProcessingBlock(block, outcome))

    def verify_line(self, line: Sequence[Block], envs: Sequence[Env]) -> None:
        """Verify consecutive blocks as `verify` does: either all of them become processing, or none.

        Each block is executed on a single diff with the changes of all blocks before it, not on a chain of
        diffs, so the last block of a long sequence takes as much time as the first.

        Args:
            line: The blocks.
            envs: The environment of each block.

        Raises:
            InvalidBlock: A block breaks a rule or does not follow the block before; the reason says which.
        """
        added: list[ProcessingBlock] = []
        try:
            self._verify_line(line, envs, added)
        except Exception:
            if added:
                self._tree.reject(added[0].block.block_id)
            raise
        for entry in added:
            if not isinstance(entry.block, OptionBlock):  # an option shares its proposal's outcome
                _rebase(entry, self._state_after(self._parent_of(entry.block)[1]))

    def options(self, block: Block) -> tuple[Block, Block] | None:
        """Return the commit and abort blocks of a proposal; None for any other block.

        A proposal from before Banff has no timestamp and can have no children here.
        """
        if not isinstance(block, ProposalBlock) or block.time is None:
            return None
        return build_options(block)

    def state_after(self, block_id: ID) -> ChainState | None:
        """Return the state that a child of this block is verified on.

        None for a proposal, and for a block that is no longer held here. While an accepted proposal waits
        for its option, the proposal's parent still has a state.
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
            NotProcessing: It is neither processing nor the last accepted block.
        """
        self._tree.prefer(block_id)

    def build(self, waiting: Iterable[Tx], env: Env) -> BuiltBlock:
        """Build a block on the preferred block and make it processing, if there is anything to include.

        Transactions in undecided ancestors are left out. A transaction that is rejected here may be valid on
        another branch; it is invalid for good only if the preferred block is the last accepted one.

        Raises:
            InvalidBlock: The preferred block is a proposal, which only its options can follow.
        """
        preferred = self._tree.preference
        entry = self._entry(preferred)
        if entry is not None and isinstance(entry.block, ProposalBlock):
            raise InvalidPlatformBlock(PlatformBlockReason.NO_PROPOSAL)
        included = {tx.tx_id for item in self._tree.line(preferred) for tx in item.block.txs}
        offered = (tx for tx in waiting if tx.tx_id not in included) if included else waiting
        parent = self._last if entry is None else entry.block
        built = build(parent, self._state_after(entry), offered, env)
        # Building is deterministic: an undecided block that was built before is built again.
        if built.block is not None and built.block.block_id not in self._tree:
            assert built.outcome is not None
            new = ProcessingBlock(built.block, built.outcome)
            self._tree.add(built.block.block_id, preferred, new)
        return built

    def accept(self, block_ids: Sequence[ID]) -> AcceptanceResult:
        """Accept processing blocks, each a child of the one before it; conflicting blocks are rejected.

        After the steps are written, `rebase` moves the remaining blocks to the new state. Until then they
        read through the accepted diffs, which show the same.

        Raises:
            NotProcessing: A block is not processing or follows another block; those before it are accepted.
        """
        steps: list[WriteStep] = []
        rejected: list[Block] = []
        for block_id in block_ids:
            entry = self._tree.get(block_id)
            if entry is None:
                raise NotProcessing(block_id)
            rejected += [item.block for item in self._tree.accept(block_id)]
            steps += self._step(entry)
        return AcceptanceResult(tuple(steps), tuple(rejected))

    def reject(self, block_id: ID) -> tuple[Block, ...]:
        """Remove a block and its descendants; return them, each parent before its children.

        Raises:
            NotProcessing: It is not processing.
        """
        return tuple(entry.block for entry in self._tree.reject(block_id))

    def rebase(self, state: ChainState) -> None:
        """Move the processing blocks to the accepted state as it is now stored.

        This is exact because the rows equal the content of the accepted diffs. While an accepted proposal
        waits for its option nothing has been stored, and only its own outcomes are moved.
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
        """Remove all blocks and restart from an accepted block: after a restart, or a commit that failed."""
        self._tree.begin_at(last_accepted.block_id)
        self._last, self._state, self._proposal = last_accepted, state, None

    def _verify_line(
        self, line: Sequence[Block], envs: Sequence[Env], added: list[ProcessingBlock]
    ) -> None:
        before: Diff | None = None
        for place, (block, env) in enumerate(zip(line, envs, strict=True)):
            if place:
                verify_child(block, line[place - 1])
            if block.block_id in self._tree:
                continue
            parent, parent_entry = self._parent_of(block)
            verify_child(block, parent)
            if isinstance(block, OptionBlock):
                assert parent_entry is not None, "a parent without its outcomes is no proposal"
                outcome: Diff | ProposalOptions = _chosen(block, parent_entry)
            else:
                before = before or Diff(self._state_after(parent_entry))
                outcome = execute_block(block, before, env)
            added.append(ProcessingBlock(block, outcome))
            self._tree.add(block.block_id, block.parent_id, added[-1])
            if before is not None and isinstance(outcome, Diff):
                outcome.apply(before)

    def _step(self, entry: ProcessingBlock) -> list[WriteStep]:
        self._last = entry.block
        if isinstance(entry.outcome, ProposalOptions):
            self._proposal = entry
            return []
        blocks: tuple[Block, ...] = (entry.block,)
        if self._proposal is not None:
            blocks = (self._proposal.block, entry.block)
            self._proposal = None
        self._state = entry.outcome
        return [WriteStep(blocks, entry.outcome)]

    def _entry(self, block_id: ID) -> ProcessingBlock | None:
        """Return the entry of a block that is processing, or accepted and not written yet."""
        if self._proposal is not None and self._proposal.block.block_id == block_id:
            return self._proposal
        return self._tree.get(block_id)

    def _parent_of(self, block: Block) -> tuple[Parent, ProcessingBlock | None]:
        entry = self._entry(block.parent_id)
        if entry is not None:
            return entry.block, entry
        if block.parent_id != self._tree.last_accepted:
            raise unexpected_parent(block.block_id, self._tree.last_accepted, block.parent_id)
        return self._last, None

    def _state_after(self, entry: ProcessingBlock | None) -> ChainState:
        if entry is None:
            return self._state
        assert isinstance(entry.outcome, Diff), "only options follow a proposal"
        return entry.outcome


def _chosen(option: OptionBlock, proposal: ProcessingBlock) -> Diff:
    assert isinstance(proposal.outcome, ProposalOptions)
    commit, abort = proposal.outcome
    return commit if isinstance(option, CommitBlock) else abort


def _rebase(entry: ProcessingBlock, state: ChainState) -> None:
    outcomes = entry.outcome if isinstance(entry.outcome, ProposalOptions) else (entry.outcome,)
    for outcome in outcomes:
        outcome.rebase(state)
