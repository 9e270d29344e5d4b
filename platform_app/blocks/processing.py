"""The P-Chain's processing blocks, each verified on its parent's state, which may be undecided too.

A block's state is a diff over its parent's, down to the accepted state; nothing is written (pchain.md 5,
snowman.md 14.5). Acceptance returns steps, which the store writes. A proposal is written together
with the option that decides it, so an accepted proposal is held here until then.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from typing_extensions import override

from chainvm.processing import AcceptDecision, ProcessingTree
from platform_app.blocks.block import Block, CommitBlock, OptionBlock, ProposalBlock, build_options
from platform_app.blocks.errors import unexpected_parent
from platform_app.blocks.executor import Parent, ProposalOptions, execute_block, verify_child
from platform_app.config import Env
from platform_app.state.chain import ChainState, Diff
from primitives.ids import ID


class WriteStep(NamedTuple):
    """Blocks that are written in one transaction, and their changes.

    Several blocks are a proposal and its option, because neither is ever stored alone.
    """

    blocks: tuple[Block, ...]
    diff: Diff


Outcome = ChainState | ProposalOptions
"""The state after a block: of a proposal both outcomes; an option has the outcome that it chooses."""


@dataclass(frozen=True, slots=True)
class AcceptanceResult(AcceptDecision[Block, Outcome]):
    """The blocks that an acceptance accepted and rejected."""

    steps: tuple[WriteStep, ...]
    """The accepted blocks, to be written in this order."""


class PlatformProcessingBlocks(ProcessingTree[Block, Outcome]):
    """Verifies and builds on any block that is not rejected. Not thread-safe.

    An accepted proposal counts as last accepted block, although its rows are written with its option.

    Args:
        last_accepted: The last accepted block, or its stored ID and height.
        state: The state after that block.
    """

    def __init__(self, last_accepted: Parent, state: ChainState) -> None:
        super().__init__(last_accepted.block_id, state)
        self._last: Parent = last_accepted
        self._state = state
        """The accepted state; without the outcome of an accepted proposal whose option is undecided."""
        self._proposal: Block | None = None
        """The last accepted block, if it is a proposal without an accepted option."""

    @property
    def preferred_block(self) -> Parent:
        """The block to build on, or its stored ID and height if it is the last accepted block."""
        return self.get(self.preference) or self._last

    @override
    def get(self, block_id: ID) -> Block | None:
        """Return a processing block, or the accepted proposal whose option is undecided."""
        if self._proposal is not None and self._proposal.block_id == block_id:
            return self._proposal
        return super().get(block_id)

    def verify(self, block: Block, env: Env) -> None:
        """Verify a block on its parent; if valid, it becomes processing. Repeating the call changes nothing.

        Raises:
            InvalidBlock: It breaks a rule; the reason says which. `UnknownParent`: its parent is neither
                processing nor the last accepted block.
        """
        if block.block_id in self:
            return
        verify_child(block, self._parent_of(block))
        if isinstance(block, OptionBlock):
            outcome: Outcome = _chosen(block, self.effect(block.parent_id))
        else:
            outcome = execute_block(block, self._state_below(block), env)
        self.add(block, outcome)

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
        new = [block for block in line if block.block_id not in self]
        with self.all_or_none():
            self._verify_line(line, envs)
        for block in new:
            if not isinstance(block, OptionBlock):  # an option shares its proposal's outcome
                _rebase(self.effect(block.block_id), self._state_below(block))

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
        if self._proposal is not None and self._proposal.parent_id == block_id:
            return self._state
        outcome = self.effect(block_id) if self.is_parent(block_id) else None
        return None if isinstance(outcome, ProposalOptions) else outcome

    @override
    def accept(self, block_ids: Sequence[ID]) -> AcceptanceResult:
        """Accept processing blocks as `ProcessingTree.accept` does, and return the steps that write them.

        After the steps are written, `rebase` moves the remaining blocks to the new state. Until then they
        read through the accepted diffs, which show the same.
        """
        decision = super().accept(block_ids)
        steps = [step for verified in decision.accepted for step in self._step(*verified)]
        return AcceptanceResult(decision.accepted, decision.rejected, tuple(steps))

    def rebase(self, state: ChainState) -> None:
        """Move the processing blocks to the accepted state as it is now stored.

        This is exact because the rows equal the content of the accepted diffs. While an accepted proposal
        waits for its option nothing has been stored, and only its own outcomes are moved.
        """
        self._state = state
        if self._proposal is not None:
            _rebase(self.last_effect, state)
            return
        self.last_effect = state
        for block_id in self.children(self.last_accepted):
            _rebase(self.effect(block_id), state)

    def reset_to(self, last_accepted: Parent, state: ChainState) -> None:
        """Remove all blocks and restart from an accepted block: after a restart, or a commit that failed."""
        self.reset(last_accepted.block_id, state)
        self._last, self._state, self._proposal = last_accepted, state, None

    def _verify_line(self, line: Sequence[Block], envs: Sequence[Env]) -> None:
        before: Diff | None = None
        for place, (block, env) in enumerate(zip(line, envs, strict=True)):
            if place:
                verify_child(block, line[place - 1])
            if block.block_id in self:
                continue
            verify_child(block, self._parent_of(block))
            if isinstance(block, OptionBlock):
                outcome: Outcome = _chosen(block, self.effect(block.parent_id))
            else:
                before = before or Diff(self._state_below(block))
                outcome = execute_block(block, before, env)
            self.add(block, outcome)
            if before is not None and isinstance(outcome, Diff):
                outcome.apply(before)

    def _step(self, block: Block, outcome: Outcome) -> list[WriteStep]:
        self._last = block
        if isinstance(outcome, ProposalOptions):
            self._proposal = block
            return []
        blocks = (block,) if self._proposal is None else (self._proposal, block)
        self._proposal, self._state = None, outcome
        assert isinstance(outcome, Diff)
        return [WriteStep(blocks, outcome)]

    def _parent_of(self, block: Block) -> Parent:
        parent = self.get(block.parent_id)
        if parent is not None:
            return parent
        if block.parent_id != self.last_accepted:
            raise unexpected_parent(block.block_id, self.last_accepted, block.parent_id)
        return self._last

    def _state_below(self, block: Block) -> ChainState:
        state = self.effect(block.parent_id)
        assert not isinstance(state, ProposalOptions), "only options follow a proposal"
        return state


def _chosen(option: OptionBlock, outcome: Outcome) -> Diff:
    assert isinstance(outcome, ProposalOptions), "an option follows a proposal"
    return outcome.commit if isinstance(option, CommitBlock) else outcome.abort


def _rebase(outcome: Outcome, state: ChainState) -> None:
    for diff in outcome if isinstance(outcome, ProposalOptions) else (outcome,):
        assert isinstance(diff, Diff)
        diff.rebase(state)
