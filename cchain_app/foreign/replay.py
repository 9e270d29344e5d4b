"""Executes the blocks of an imported chain, one after another, on the stored state. Pure.

All blocks are decided, so a single overlay holds the changes of all blocks since the last commit. The fields of a
block's header are computed again and compared; the store writes the result.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from cchain_app.blocks.accepted import AcceptedBlock, encode_withdrawal, make_block
from cchain_app.blocks.candidate import CandidateBlock
from cchain_app.blocks.errors import BlockReason, BlockRefused
from cchain_app.blocks.receipt import make_receipts
from cchain_app.blocks.verification import compare, verify_body
from cchain_app.config import at_least
from cchain_app.evm.credits import pay
from cchain_app.evm.engine import (
    BlockEnv,
    ExecutedBlock,
    StateChanges,
    StateReader,
    TransactionResult,
)
from cchain_app.evm.pending_state import PendingState, merged
from cchain_app.evm.trie import NodeReader, OverlayReader, StateTrie, TrieUpdate
from cchain_app.foreign.credits import credits_of
from cchain_app.foreign.headers import (
    MAX_OMMER_DEPTH,
    ForeignBlockReason,
    InvalidForeignBlock,
    verify_header,
    verify_ommers,
)
from cchain_app.processing import BlockExecutor, VerifiedBlock
from cchain_app.txs.transaction import GAS_PER_BLOB, Transaction
from primitives.evm import Hash

MAX_RLP_BLOCK_SIZE = 8 * 1024 * 1024
"""Limit of a block since Osaka (EIP-7934): 10 MiB minus the other contents of a beacon block."""


class _ExecutedBody(NamedTuple):
    """The result of executing a block's body."""

    executed: ExecutedBlock
    """Its changes include the rewards and withdrawals."""
    trie: TrieUpdate
    state_roots: tuple[Hash, ...]
    """After each transaction, only before Byzantium."""


class ForeignReplay:
    """The end of the chain, to which blocks are added. For one thread at a time.

    A rejected block changes nothing.

    Args:
        executor: Executes blocks by the chain's rules.
        trie: The state trie.
        ancestors: The last `MAX_OMMER_DEPTH` accepted blocks, or all if there are fewer; the head is the last one.
        state: The state after the head.
        nodes: Reads the nodes of that state's trie.
    """

    def __init__(
        self,
        executor: BlockExecutor,
        trie: StateTrie,
        ancestors: Iterable[AcceptedBlock],
        state: StateReader,
        nodes: NodeReader,
    ) -> None:
        self._executor = executor
        self._rules = executor.rules
        self._trie = trie
        self._ancestors = deque(ancestors, maxlen=MAX_OMMER_DEPTH)
        self.rebase(state, nodes)

    @property
    def head(self) -> AcceptedBlock:
        """The last block."""
        return self._ancestors[-1]

    def rebase(self, state: StateReader, nodes: NodeReader) -> None:
        """Continue on the stored state, which now includes all blocks that were added."""
        self._state = PendingState(state)
        self._updated: dict[bytes, bytes | None] = {}
        self._nodes = OverlayReader(nodes, self._updated)

    def add(self, candidate: CandidateBlock, transactions: Sequence[Transaction]) -> VerifiedBlock:
        """Execute a block on its parent.

        Args:
            candidate: The block.
            transactions: The block's transactions, with their senders.

        Raises:
            InvalidBlock: By a subclass: the block breaks a rule, or a header field is wrong.
            TrieError: The nodes that are read do not belong to the state.
        """
        verify_header(candidate, self.head, self._rules)
        env = self._rules.env_of(candidate)
        self._verify_body(candidate, transactions, env)
        if at_least(env.fork, "byzantium"):
            done = self._execute(candidate, env, transactions)
        else:
            done = self._execute_apart(candidate, env, transactions)
        block = self._assemble(candidate, env, transactions, done)
        self._rules.verify_outcome(candidate, block)
        self._extend(block, done)
        return VerifiedBlock(block, done.executed, done.trie)

    def _verify_body(
        self, candidate: CandidateBlock, transactions: Sequence[Transaction], env: BlockEnv
    ) -> None:
        header = candidate.header
        if at_least(env.fork, "osaka") and len(candidate.raw) > MAX_RLP_BLOCK_SIZE:
            raise InvalidForeignBlock(
                ForeignBlockReason.SIZE, have=len(candidate.raw), limit=MAX_RLP_BLOCK_SIZE
            )
        verify_body(header, self._trie.ordered_root(candidate.transactions))
        verify_ommers(candidate, self._ancestors, env.fork)
        withdrawals = None
        if at_least(env.fork, "shanghai"):
            withdrawals = self._trie.ordered_root(
                [encode_withdrawal(withdrawal) for withdrawal in candidate.withdrawals]
            )
        compare([(BlockReason.WRONG_WITHDRAWALS_ROOT, header.withdrawals_root, withdrawals)])
        if not at_least(env.fork, "spurious_dragon"):
            _verify_unprotected(transactions)
        self._verify_blobs(candidate, transactions)

    def _verify_blobs(self, candidate: CandidateBlock, transactions: Sequence[Transaction]) -> None:
        header = candidate.header
        used = sum(transaction.blob_gas for transaction in transactions)
        blobs = self._rules.config.blob_params_at(header.number, header.timestamp)
        want = None if blobs is None else used
        compare([(BlockReason.WRONG_BLOB_GAS_USED, header.blob_gas_used, want)])
        if blobs is not None and used > blobs.maximum * GAS_PER_BLOB:
            raise InvalidForeignBlock(
                ForeignBlockReason.TOO_MANY_BLOBS, have=used // GAS_PER_BLOB, limit=blobs.maximum
            )

    def _execute(
        self, candidate: CandidateBlock, env: BlockEnv, transactions: Sequence[Transaction]
    ) -> _ExecutedBody:
        executed = self._run(
            env,
            transactions,
            self._state,
            begun=self._executor.begun(self.head, env, self._state),
        )
        credited = credits_of(candidate, env.fork)
        if credited:
            paid = pay(credited, executed.changes, self._state, env.fork)
            executed = replace(executed, changes=merged(executed.changes, paid))
        root = self.head.header.state_root
        return _ExecutedBody(executed, self._trie.update(root, executed.changes, self._nodes), ())

    def _execute_apart(
        self, candidate: CandidateBlock, env: BlockEnv, transactions: Sequence[Transaction]
    ) -> _ExecutedBody:
        """Execute a block transaction by transaction, because receipts before Byzantium contain the state root."""
        state = PendingState(self._state)
        line = _BlockTrie(self._trie, self.head.header.state_root, self._nodes)
        results: list[TransactionResult] = []
        changes = StateChanges()
        roots: list[Hash] = []
        gas_used = 0
        for index, transaction in enumerate(transactions):
            if transaction.gas > env.limits.in_block(env.gas_limit - gas_used):
                raise BlockRefused(
                    BlockReason.EXECUTION_REFUSED,
                    failure=f"could not apply tx {index} [0x{transaction.hash.hex()}]: gas limit reached",
                )
            result = self._run(env, [transaction], state)
            results += result.results
            gas_used += result.gas_used
            state.apply(candidate.header.number, candidate.hash, result.changes)
            roots.append(line.follow(result.changes))
            changes = merged(changes, result.changes)
        paid = pay(credits_of(candidate, env.fork), changes, self._state, env.fork)
        line.follow(paid)
        executed = ExecutedBlock(
            included=tuple(range(len(results))),
            results=tuple(results),
            skipped=(),
            gas_used=gas_used,
            changes=merged(changes, paid),
            requests_hash=None,
        )
        return _ExecutedBody(executed, line.update, tuple(roots))

    def _run(
        self,
        env: BlockEnv,
        transactions: Sequence[Transaction],
        state: StateReader,
        begun: StateChanges | None = None,
    ) -> ExecutedBlock:
        return self._executor.execute(env, transactions, state, skip_invalid=False, begun=begun)

    def _assemble(
        self,
        candidate: CandidateBlock,
        env: BlockEnv,
        transactions: Sequence[Transaction],
        done: _ExecutedBody,
    ) -> AcceptedBlock:
        """Return the block with header fields computed from its execution instead of those of the candidate."""
        outcomes = zip((tx.type for tx in transactions), done.executed.results, strict=True)
        made = make_receipts(outcomes, done.state_roots, self._executor.encode_logs)
        header = replace(
            candidate.header,
            state_root=done.trie.root,
            receipts_root=self._trie.ordered_root(made.envelopes),
            logs_bloom=made.bloom,
            gas_used=done.executed.gas_used,
            requests_hash=done.executed.requests_hash,
        )
        return make_block(
            header, tuple(transactions), made.receipts, candidate.ommers, candidate.withdrawals
        )

    def _extend(self, block: AcceptedBlock, done: _ExecutedBody) -> None:
        self._trie.commit(block.header.state_root)
        self._state.apply(block.number, block.hash, done.executed.changes)
        self._updated.update(done.trie.nodes)
        self._ancestors.append(block)


class _BlockTrie:
    """The state trie within a block, from one transaction's root to the next.

    Args:
        trie: Computes the roots.
        root: Root of the state before the block.
        nodes: Reads that state's nodes.
    """

    def __init__(self, trie: StateTrie, root: Hash, nodes: NodeReader) -> None:
        self._trie = trie
        self._root = root
        self._updated: dict[bytes, bytes | None] = {}
        self._nodes = OverlayReader(nodes, self._updated)

    def follow(self, changes: StateChanges) -> Hash:
        """Apply changes and return the new root."""
        update = self._trie.update(self._root, changes, self._nodes)
        self._trie.commit(update.root)
        self._updated.update(update.nodes)
        self._root = update.root
        return update.root

    @property
    def update(self) -> TrieUpdate:
        """All changes so far as a single update."""
        return TrieUpdate(self._root, dict(self._updated))


def _verify_unprotected(transactions: Sequence[Transaction]) -> None:
    for index, transaction in enumerate(transactions):
        if transaction.chain_id is not None:
            raise InvalidForeignBlock(
                ForeignBlockReason.TRANSACTION_TOO_EARLY,
                index=index,
                form="a chain ID",
                fork="spurious_dragon",
            )
