"""The C-Chain's processing blocks: each is executed on its parent's state, and the parent may be undecided too.

Execution uses overlays over the accepted state and its trie, so nothing is written (snowman.md
14.6). Accepting a block returns values, which the store writes. Pure: the caller chooses which transactions a
block may have, and knows their senders.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.candidate import CandidateBlock
from cchain_app.blocks.errors import BlockReason, BlockRefused, TransactionRefused, unknown_parent
from cchain_app.blocks.receipt import EncodeLogs
from cchain_app.blocks.verification import verify_body
from cchain_app.evm.engine import (
    BlockEnv,
    Engine,
    ExecutedBlock,
    ExecutionInvalid,
    SkippedTransaction,
    StateChanges,
    StateReader,
)
from cchain_app.evm.overrides import BlockOverride
from cchain_app.evm.pending_state import PendingState, leaves_of, merged, state_after, with_owners
from cchain_app.evm.trie import NodeReader, OverlayReader, Tries, TrieUpdate, overlay
from cchain_app.rules.port import ChainRules
from cchain_app.txs.transaction import Transaction
from chainvm.errors import NotProcessing
from chainvm.port import BlockContext
from chainvm.processing import ProcessingTree
from primitives.evm import Hash
from primitives.hashing import EMPTY_ROOT
from primitives.ids import ID


class VerifiedBlock(NamedTuple):
    """An executed block with its changes: everything that is stored of it."""

    block: AcceptedBlock
    executed: ExecutedBlock
    trie: TrieUpdate
    leaves: tuple[bytes, ...] = ()
    """For a fork: the accounts, and slots behind their address, that its state root includes from here on."""


class AssembledBlock(NamedTuple):
    """The result of building a block from a list of transactions."""

    made: VerifiedBlock | None
    """None if no transaction could be included and an empty block was not allowed."""
    skipped: tuple[SkippedTransaction, ...]


class AcceptDecision(NamedTuple):
    """The blocks that an acceptance decided."""

    accepted: tuple[VerifiedBlock, ...]
    """Blocks to write, in order."""
    rejected: tuple[AcceptedBlock, ...]
    """Rejected blocks, each parent before its children."""


@dataclass(frozen=True, slots=True)
class BlockExecutor:
    """Executes blocks by a chain's rules."""

    rules: ChainRules
    engine: Engine
    encode_logs: EncodeLogs
    """Encodes the logs of receipts."""
    pin: Hash | None = None
    """The fork block, for a fork: the state up to it is remote, and its trie counts as empty."""

    def root_after(self, block: AcceptedBlock) -> Hash:
        """Return the root of the local trie after a block."""
        return EMPTY_ROOT if block.hash == self.pin else block.header.state_root

    def execute(
        self,
        env: BlockEnv,
        transactions: Sequence[Transaction],
        state: StateReader,
        *,
        skip_invalid: bool,
    ) -> ExecutedBlock:
        """Execute transactions on a state as `Engine.execute_block` does.

        Raises:
            BlockRefused: A transaction cannot run at its place, or a system call fails.
        """
        try:
            return self.engine.execute_block(env, transactions, state, skip_invalid=skip_invalid)
        except ExecutionInvalid as refusal:
            raise BlockRefused(BlockReason.EXECUTION_REFUSED, failure=str(refusal)) from refusal


@dataclass(slots=True)
class _ProcessingEntry:
    made: VerifiedBlock
    state: PendingState
    nodes: OverlayReader


class ProcessingBlocks:
    """Verifies blocks and builds on any block that is not rejected. Use it from one thread at a time.

    Args:
        executor: Executes blocks by the chain's rules.
        tries: The state trie, with and without a cache.
        head: The last accepted block.
        state: The state after it.
        nodes: Reads the nodes of that state's trie.
    """

    def __init__(
        self,
        executor: BlockExecutor,
        tries: Tries,
        head: AcceptedBlock,
        state: StateReader,
        nodes: NodeReader,
    ) -> None:
        self._executor = executor
        self._rules = executor.rules
        self._tries = tries
        self._tree: ProcessingTree[_ProcessingEntry] = ProcessingTree(ID(head.hash))
        self._head = head
        self._state = state
        self._nodes = nodes
        self._superseded: list[object] = []
        """States and node readers of accepted blocks, and the stored ones before them, which `rebase` replaces."""

    def __len__(self) -> int:
        return len(self._tree)

    def __contains__(self, block_id: ID) -> bool:
        return block_id in self._tree

    @property
    def head(self) -> AcceptedBlock:
        """The last accepted block."""
        return self._head

    @property
    def preference(self) -> ID:
        """The block that `build` builds on."""
        return self._tree.preference

    def is_parent(self, block_id: ID) -> bool:
        """Return whether a block can be a parent: it is processing, or is the head."""
        return block_id in self._tree or block_id == self._tree.last_accepted

    def get(self, block_id: ID) -> VerifiedBlock | None:
        """Return a processing block with its changes; None for any other block."""
        entry = self._tree.get(block_id)
        return None if entry is None else entry.made

    def executed(self, block_id: ID) -> tuple[VerifiedBlock, PendingState]:
        """Return a processing block with its changes, and the state after it.

        Raises:
            NotProcessing: It is not processing.
        """
        entry = self._tree.get(block_id)
        if entry is None:
            raise NotProcessing(block_id)
        return entry.made, entry.state

    def line(self, block_id: ID) -> list[AcceptedBlock]:
        """Return the undecided blocks from the head's child up to and including this block.

        Raises:
            NotProcessing: It is neither processing nor the head.
        """
        return [entry.made.block for entry in self._tree.line(block_id)]

    def state_after(self, block_id: ID) -> StateReader:
        """Return the state after a processing block or the head.

        Raises:
            NotProcessing: It is neither.
        """
        if block_id == self._tree.last_accepted:
            return self._state
        entry = self._tree.get(block_id)
        if entry is None:
            raise NotProcessing(block_id)
        return entry.state

    def verify(
        self,
        candidate: CandidateBlock,
        transactions: Sequence[Transaction] | TransactionRefused,
        context: BlockContext,
    ) -> None:
        """Execute a block on its parent and add it to the processing blocks. Repeating this changes nothing.

        The header is not trusted: every field is recomputed and compared.

        Args:
            candidate: The block.
            transactions: The block's transactions with their senders; or the error for a transaction that cannot
                be read, which is raised after all checks that come before it have passed.
            context: The block's context; the block may be ten seconds ahead of its time.

        Raises:
            UnknownParent: Its parent is neither processing nor the head.
            InvalidBlock: It breaks a rule; the subclass says which.
            TrieError: The nodes that are read are not those of the parent's state.
        """
        block_id = ID(candidate.hash)
        if block_id in self._tree:
            return
        header = candidate.header
        parent_id = ID(header.parent_hash)
        parent = self._block(parent_id)
        if parent is None:
            raise unknown_parent(header, self._head.hash)
        env = self._rules.verify_header(candidate, parent, context)
        verify_body(header, self._tries.cached.ordered_root(candidate.transactions))
        if isinstance(transactions, TransactionRefused):
            raise transactions
        executed = self._executor.execute(
            env, transactions, self.state_after(parent_id), skip_invalid=False
        )
        made = self._finish(
            parent,
            env,
            transactions,
            executed,
            extra_data=header.extra_data,
            payload=candidate.payload,
        )
        self._rules.verify_outcome(candidate, made.block)
        self._add(parent_id, made)

    def build(
        self,
        transactions: Sequence[Transaction],
        context: BlockContext,
        *,
        allow_empty: bool = False,
        override: BlockOverride | None = None,
        by_hand: StateChanges | None = None,
    ) -> AssembledBlock:
        """Build a block from the transactions that fit, on the preferred block, and make it processing.

        Args:
            transactions: In the order in which they should run, without those of an undecided ancestor.
            context: The block's context. The block gets its time as timestamp, unless its parent's is later.
            allow_empty: Build the block even if it contains no transaction.
            override: Fields of its environment that a cheat has set (devnet.md 2 and 7).
            by_hand: Changes that cheats made to the head since its block. The state includes them already,
                the trie does not (devnet.md 10).

        Raises:
            TrieError: The nodes that are read are not those of the parent's state.
        """
        parent_id = self._tree.preference
        parent = self._block(parent_id)
        assert parent is not None
        env = self._rules.env_after(parent, max(context.now, parent.header.timestamp))
        if override is not None:
            env = override.apply(env)
        executed = self._executor.execute(
            env, transactions, self.state_after(parent_id), skip_invalid=True
        )
        included = [transactions[index] for index in executed.included]
        if not included and not allow_empty:
            return AssembledBlock(None, executed.skipped)
        extra_data = self._rules.extension.extra_data(None)
        made = self._finish(
            parent, env, included, executed, extra_data=extra_data, payload=None, by_hand=by_hand
        )
        # Building is deterministic, so an undecided block that was built before is built a second time.
        if ID(made.block.hash) not in self._tree:
            self._add(parent_id, made)
        return AssembledBlock(made, executed.skipped)

    def prefer(self, block_id: ID) -> None:
        """Build on this block from now on.

        Raises:
            NotProcessing: It is neither processing nor the head.
        """
        self._tree.prefer(block_id)

    def accept(self, block_ids: Sequence[ID]) -> AcceptDecision:
        """Accept processing blocks, each a child of the one before it, and reject their rivals.

        After they are written, `rebase` moves the other blocks onto the new state. Until then reads go through
        the accepted blocks, with the same result.

        Raises:
            NotProcessing: One is not processing or follows another block; those before it are accepted.
        """
        accepted: list[VerifiedBlock] = []
        rejected: list[AcceptedBlock] = []
        for block_id in block_ids:
            entry = self._tree.get(block_id)
            if entry is None:
                raise NotProcessing(block_id)
            rejected += [rival.made.block for rival in self._tree.accept(block_id)]
            accepted.append(entry.made)
            self._head = entry.made.block
            self._superseded += [self._state, self._nodes]
            self._state, self._nodes = entry.state, entry.nodes
        return AcceptDecision(tuple(accepted), tuple(rejected))

    def reject(self, block_id: ID) -> tuple[AcceptedBlock, ...]:
        """Remove a block and all its descendants; return them, each parent before its children.

        Raises:
            NotProcessing: It is not processing.
        """
        return tuple(entry.made.block for entry in self._tree.reject(block_id))

    def rebase(self, state: StateReader, nodes: NodeReader) -> None:
        """Move the processing blocks onto the accepted state as it is stored now."""
        self._tries.accepted(self._executor.root_after(self._head))
        superseded = {id(value) for value in [*self._superseded, self._state, self._nodes]}
        for entry in self._tree.entries():
            if id(entry.state.below) in superseded:
                entry.state.below = state
            if id(entry.nodes.below) in superseded:
                entry.nodes.below = nodes
        self._state, self._nodes = state, nodes
        self._superseded.clear()

    def begin_at(self, head: AcceptedBlock, state: StateReader, nodes: NodeReader) -> None:
        """Forget everything and start from this head, after a restart or a failed commit."""
        self._tree.begin_at(ID(head.hash))
        self._head, self._state, self._nodes = head, state, nodes
        self._superseded.clear()

    def _block(self, block_id: ID) -> AcceptedBlock | None:
        if block_id == self._tree.last_accepted:
            return self._head
        entry = self._tree.get(block_id)
        return None if entry is None else entry.made.block

    def _finish(
        self,
        parent: AcceptedBlock,
        env: BlockEnv,
        transactions: Sequence[Transaction],
        executed: ExecutedBlock,
        *,
        extra_data: bytes,
        payload: bytes | None,
        by_hand: StateChanges | None = None,
    ) -> VerifiedBlock:
        """Compute the roots of an executed block and put it together."""
        parent_id = ID(parent.hash)
        changes = executed.changes if by_hand is None else merged(by_hand, executed.changes)
        # Each undecided ancestor has a height of its own, so the heights give their number.
        alone = len(self._tree) == parent.number - self._head.number
        leaves: tuple[bytes, ...] = ()
        if self._executor.pin is not None:
            changes = with_owners(changes, self.state_after(parent_id).account)
            leaves = leaves_of(changes)
        update = self._tries.update(
            self._executor.root_after(parent), changes, self._nodes_after(parent_id), alone=alone
        )
        block = self._rules.assemble(
            env,
            transactions,
            executed,
            state_root=update.root,
            ordered_root=self._tries.cached.ordered_root,
            encode_logs=self._executor.encode_logs,
            extra_data=extra_data,
            payload=payload,
        )
        return VerifiedBlock(block, executed, update, leaves)

    def _nodes_after(self, block_id: ID) -> NodeReader:
        entry = self._tree.get(block_id)
        return self._nodes if entry is None else entry.nodes

    def _add(self, parent_id: ID, made: VerifiedBlock) -> None:
        changes = made.executed.changes
        block = made.block
        state = state_after(self.state_after(parent_id), block.number, block.hash, changes)
        nodes = overlay(self._nodes_after(parent_id), made.trie)
        self._tree.add(ID(block.hash), parent_id, _ProcessingEntry(made, state, nodes))
