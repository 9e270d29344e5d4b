"""Blocks of other nodes: verify, execute and accept them.

Nothing of a block is believed: all that its header says is made anew from its parent and its
transactions, by the functions that make blocks here, and compared.
"""

from collections.abc import Iterable, Sequence

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.candidate import (
    CandidateBlock,
    CandidateHeader,
    parse_block,
    parse_header,
)
from cchain_app.blocks.errors import ExecutionRefused, TransactionRefused, UnknownParent
from cchain_app.blocks.verification import (
    verify_body,
    verify_outcome,
    verify_place,
    verify_surroundings,
)
from cchain_app.chain import EvmChain
from cchain_app.evm.engine import BlockEnv, InvalidBlock
from cchain_app.evm.pending_state import PendingState
from cchain_app.evm.trie import NodeReader, TrieError, TrieUpdate, overlay
from cchain_app.processing import VerifiedBlock
from cchain_app.selectors import blocks, state
from cchain_app.services.acceptance import (
    Beside,
    HeadMoved,
    execute,
    finish,
    head_moved,
    nothing,
    surroundings,
)
from cchain_app.services.acceptance import accept as accept_made
from cchain_app.store import evm_state
from cchain_app.txs.codec import (
    DecodedTransaction,
    check_signature,
    decode_unsigned,
    signed_digest,
    with_sender,
)
from cchain_app.txs.errors import InvalidTransaction, SenderNotRecoverable
from cchain_app.txs.transaction import Transaction
from chaindb.building import building
from chaindb.chains import Chain
from primitives.evm import Address, Hash
from primitives.hashing import keccak256

__all__ = ["CandidateBlock", "CandidateHeader", "accept", "parse_block", "parse_header"]


def accept(
    chain: EvmChain, candidates: Sequence[CandidateBlock], *, now: int, beside: Beside = nothing
) -> list[AcceptedBlock]:
    """Verify, execute and accept blocks that follow the head and each other: all or none of them.

    They are committed together, in one transaction. Memory moves and pointers are sent after it.

    Args:
        chain: Which chain.
        candidates: The blocks in order of height.
        now: This node's time in Unix seconds; blocks may be ten seconds ahead of it.
        beside: Called in the transaction for each block, after it was written; what it raises
            undoes all.

    Raises:
        UnknownParent: The first does not follow the head (any more), or another not the one before.
        InvalidBlock: By a subclass; one of them is refused, its `number` and `hash` say which.
    """
    if not candidates:
        return []
    head = blocks.catch_up(chain)
    with building(Chain.C, candidates[0].header.number):
        try:
            made = _execute_all(chain, candidates, head, now)
            accept_made(chain, made, head, beside=beside)
        except (HeadMoved, TrieError) as error:
            # Unless somebody else has written a block meanwhile, the rows are damaged.
            if not head_moved(chain, head):
                raise
            new = blocks.catch_up(chain)
            raise _located(
                UnknownParent(candidates[0].header.parent_hash, new.hash), candidates[0]
            ) from error
    return [one.block for one in made]


def _execute_all(
    chain: EvmChain, candidates: Sequence[CandidateBlock], head: AcceptedBlock, now: int
) -> list[VerifiedBlock]:
    signed = read_transactions(chain, candidates)
    run = _Run(chain, head, now)
    run.prefetch([one for listed in signed if not isinstance(listed, Exception) for one in listed])
    for candidate, transactions in zip(candidates, signed, strict=True):
        try:
            run.follow(candidate, transactions)
        except InvalidBlock as refusal:
            raise _located(refusal, candidate) from refusal.__cause__
    return run.made


def _located(refusal: InvalidBlock, candidate: CandidateBlock) -> InvalidBlock:
    refusal.number, refusal.hash = candidate.header.number, candidate.hash
    return refusal


class _Run:
    """Blocks that are executed one after the other, on what those before them have changed."""

    def __init__(self, chain: EvmChain, head: AcceptedBlock, now: int) -> None:
        self._chain = chain
        self._head = head
        self._now = now
        self._state = PendingState(state.state_at(chain, head.number))
        self._changed_nodes: dict[bytes, bytes | None] = {}
        self.made: list[VerifiedBlock] = []

    def prefetch(self, transactions: Iterable[Transaction]) -> None:
        """Read the accounts that are surely needed, in a few statements."""
        wanted = {self._chain.config.coinbase}
        for one in transactions:
            wanted.add(one.sender)
            if one.to is not None:
                wanted.add(one.to)
        state.prefetch_accounts(self._chain, list(wanted), self._head.number)

    def follow(
        self, candidate: CandidateBlock, transactions: Sequence[Transaction] | TransactionRefused
    ) -> None:
        """Execute the next block and see that it is what it says.

        Raises:
            InvalidBlock: By a subclass: it is not.
            TrieError: The stored nodes are not those of the head's state.
        """
        header = candidate.header
        parent = self.made[-1].block if self.made else self._head
        verify_place(header, parent, now=self._now)
        env = surroundings(self._chain, parent, header.timestamp)
        verify_surroundings(header, env)
        verify_body(header, self._chain.trie.ordered_root(candidate.transactions))
        if isinstance(transactions, TransactionRefused):
            raise transactions
        made = self._execute(env, transactions, parent, header.extra_data)
        verify_outcome(candidate, made.block)
        self.made.append(made)
        self._state.apply(made.block.number, made.block.hash, made.executed.changes)
        self._changed_nodes.update(made.trie.nodes)

    def _execute(
        self,
        env: BlockEnv,
        transactions: Sequence[Transaction],
        parent: AcceptedBlock,
        extra_data: bytes,
    ) -> VerifiedBlock:
        try:
            executed = execute(self._chain, env, transactions, self._state, skip_invalid=False)
        except InvalidBlock as refusal:
            raise ExecutionRefused(str(refusal)) from refusal
        root = parent.header.state_root
        return finish(
            self._chain,
            env,
            transactions,
            executed,
            (root, self._nodes(root)),
            extra_data=extra_data,
        )

    def _nodes(self, root: Hash) -> NodeReader:
        """Return who reads the trie's nodes before the next block."""
        if not self.made:
            return evm_state.NodeRows(self._chain.db)
        # What the block before did goes into the trie's cache although it is not stored yet. That
        # is safe: the cache is true for this root alone, and another root empties it.
        self._chain.trie.commit(root)
        return overlay(evm_state.NodeRows(self._chain.db), TrieUpdate(root, self._changed_nodes))


def read_transactions(
    chain: EvmChain,
    candidates: Sequence[CandidateBlock],
) -> list[list[Transaction] | TransactionRefused]:
    """Read the transactions of all blocks; where one is none, that is its block's entry.

    Senders of all blocks are recovered together: the engine does that in parallel. Those that wait
    in this node's pool are known.
    """
    read = [_decode_all(chain, one.transactions) for one in candidates]
    unsigned = [
        one
        for listed in read
        if not isinstance(listed, TransactionRefused)
        for one in listed
        if isinstance(one, DecodedTransaction)
    ]
    recovered = chain.recover_senders([signed_digest(one) for one in unsigned])
    senders = dict(zip((one.hash for one in unsigned), recovered, strict=True))
    return [
        listed if isinstance(listed, TransactionRefused) else _with_senders(listed, senders)
        for listed in read
    ]


def _decode_all(
    chain: EvmChain,
    raws: Sequence[bytes],
) -> list[Transaction | DecodedTransaction] | TransactionRefused:
    known = chain.memory.transactions
    chain_id = chain.config.chain_id
    found: list[Transaction | DecodedTransaction] = []
    for index, raw in enumerate(raws):
        waiting = known.get(keccak256(raw))
        if waiting is not None:
            found.append(waiting)
            continue
        try:
            decoded = decode_unsigned(raw)
            check_signature(decoded, chain_id)
        except InvalidTransaction as error:
            return TransactionRefused(index, error)
        found.append(decoded)
    return found


def _with_senders(
    listed: Sequence[Transaction | DecodedTransaction], senders: dict[Hash, Address | None]
) -> list[Transaction] | TransactionRefused:
    found = []
    for index, one in enumerate(listed):
        if isinstance(one, Transaction):
            found.append(one)
            continue
        sender = senders[one.hash]
        if sender is None:
            return TransactionRefused(index, SenderNotRecoverable())
        found.append(with_sender(one, sender))
    return found
