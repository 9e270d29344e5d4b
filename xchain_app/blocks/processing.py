"""The X-Chain's processing blocks, each verified on its parent's state, which may be undecided too.

A block's state is a diff over its parent's, down to the accepted state; nothing is written until a block is accepted.
"""

from collections.abc import Sequence

from chainvm.processing import AcceptDecision, ProcessingTree
from primitives.ids import ID
from xchain_app.blocks.block import AvmBlock
from xchain_app.blocks.errors import unknown_parent
from xchain_app.blocks.executor import AvmOutcome, AvmParent, execute_block, verify_alone
from xchain_app.config import AvmEnv
from xchain_app.state.chain import AvmDiff, AvmState


class AvmProcessingBlocks(ProcessingTree[AvmBlock, AvmOutcome]):
    """Verifies and builds on any block that is not rejected. Not thread-safe.

    Args:
        last_accepted: The last accepted block, or its stored ID and height.
        state: The state after that block.
    """

    def __init__(self, last_accepted: AvmParent, state: AvmState) -> None:
        super().__init__(last_accepted.block_id, AvmOutcome(AvmDiff(state)))
        self._last = last_accepted

    @property
    def preferred_block(self) -> AvmParent:
        """The block to build on, or its stored ID and height if it is the last accepted block."""
        return self.get(self.preference) or self._last

    def verify(self, block: AvmBlock, env: AvmEnv, now: int) -> None:
        """Verify a block on its parent; if valid, it becomes processing. Repeating the call changes nothing.

        Args:
            block: The block.
            env: The chain and its network.
            now: The node's clock in Unix seconds.

        Raises:
            InvalidBlock: It breaks a rule; see its reason. `UnknownParent`: its parent is neither
                processing nor the last accepted block.
        """
        if block.block_id in self:
            return
        verify_alone(block, env, now)
        parent = self._parent_of(block)
        state = self.effect(block.parent_id).state
        outcome = execute_block(block, parent, state, env, self.imports_of(block.parent_id))
        self.add(block, outcome)

    def verify_line(
        self, line: Sequence[AvmBlock], envs: Sequence[AvmEnv], times: Sequence[int]
    ) -> None:
        """Verify consecutive blocks as `verify` does: either all of them become processing, or none.

        Args:
            line: The blocks.
            envs: The environment of each block.
            times: The node's clock for each block, in Unix seconds.

        Raises:
            InvalidBlock: A block breaks a rule or does not follow the block before; see its reason.
        """
        with self.all_or_none():
            for block, env, now in zip(line, envs, times, strict=True):
                self.verify(block, env, now)

    def imports_of(self, block_id: ID) -> set[ID]:
        """Return the outputs that a block and its undecided ancestors import."""
        branch = self.branch(block_id)
        return {utxo_id for block in branch for utxo_id in self.effect(block.block_id).imports}

    def accept_blocks(self, block_ids: Sequence[ID]) -> AcceptDecision[AvmBlock, AvmOutcome]:
        """Accept processing blocks as `accept` does; then call `rebase` with the stored state."""
        decision = self.accept(block_ids)
        self._last = decision.blocks[-1]
        return decision

    def rebase(self, state: AvmState) -> None:
        """Move the processing blocks to the accepted state as it is now stored, which has the same content."""
        self.last_effect = AvmOutcome(AvmDiff(state))
        for block_id in self.children(self.last_accepted):
            self.effect(block_id).state.rebase(self.last_effect.state)

    def reset_to(self, last_accepted: AvmParent, state: AvmState) -> None:
        """Remove all blocks and restart from an accepted block: after a restart, or a commit that failed."""
        self.reset(last_accepted.block_id, AvmOutcome(AvmDiff(state)))
        self._last = last_accepted

    def _parent_of(self, block: AvmBlock) -> AvmParent:
        parent = self.get(block.parent_id)
        if parent is not None:
            return parent
        if block.parent_id != self.last_accepted:
            raise unknown_parent(block.block_id, block.parent_id)
        return self._last
