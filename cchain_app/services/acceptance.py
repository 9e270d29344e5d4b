"""Executing and accepting blocks: the one way in which the chain grows.

Blocks that are made here (`chain`) and blocks of other nodes (`following`) are executed by the same
rules, on a view of the head and without a lock, and written under the chain's lock if the head is
still their parent.
"""

from collections.abc import Callable, Sequence

from cchain_app import notifications
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.assembly import assemble, next_env
from cchain_app.chain import EvmChain
from cchain_app.evm.engine import BlockEnv, ExecutedBlock, StateReader
from cchain_app.evm.trie import NodeReader
from cchain_app.feemarket import next_gas_limit
from cchain_app.processing import VerifiedBlock
from cchain_app.selectors.next_block import base_fee_after
from cchain_app.store import chain as stored
from cchain_app.store import pool as rows
from cchain_app.txs.transaction import Transaction
from chaindb.locks import Lock
from primitives.evm import Hash

Beside = Callable[[AcceptedBlock], None]
"""Writes what belongs to a block elsewhere, in the transaction that stores the block."""


class HeadMoved(Exception):
    """Somebody else has written a block on the same parent."""


def surroundings(chain: EvmChain, parent: AcceptedBlock, timestamp: int) -> BlockEnv:
    """Return what the block after `parent` sees of its surroundings, whoever makes it.

    Args:
        chain: Which chain.
        parent: The block before.
        timestamp: Unix seconds, not below the parent's.
    """
    return next_env(
        parent,
        chain.config,
        timestamp=timestamp,
        gas_limit=next_gas_limit(parent.header.gas_limit, chain.genesis.gas_limit),
        base_fee=base_fee_after(chain, parent),
    )


def finish(
    chain: EvmChain,
    env: BlockEnv,
    transactions: Sequence[Transaction],
    executed: ExecutedBlock,
    before: tuple[Hash, NodeReader],
    *,
    extra_data: bytes = b"",
) -> VerifiedBlock:
    """Compute the roots of an executed block and put it together.

    Args:
        chain: Which chain.
        env: What it was executed in.
        transactions: Those that are in it, in order.
        executed: What became of them.
        before: Root of the state before, and who reads the trie's nodes of it.
        extra_data: For the header.

    Raises:
        TrieError: The stored nodes are not that state's.
    """
    root, nodes = before
    trie = chain.trie.update(root, executed.changes, nodes)
    block = assemble(
        env,
        transactions,
        executed,
        state_root=trie.root,
        ordered_root=chain.trie.ordered_root,
        extra_data=extra_data,
    )
    return VerifiedBlock(block, executed, trie)


def execute(
    chain: EvmChain,
    env: BlockEnv,
    transactions: Sequence[Transaction],
    state: StateReader,
    *,
    skip_invalid: bool,
) -> ExecutedBlock:
    """Execute transactions by this node's engine; raises as `Engine.execute_block` does."""
    return chain.engine.execute_block(env, transactions, state, skip_invalid=skip_invalid)


def head_moved(chain: EvmChain, head: AcceptedBlock) -> bool:
    """Say whether the rows have another head by now."""
    return stored.head_pointer(chain.db) != (head.number, head.hash)


def nothing(block: AcceptedBlock) -> None:
    """Write nothing beside a block."""
    del block


def at_once() -> None:
    """Ask nothing before a block is written."""


def accept(
    chain: EvmChain,
    made: Sequence[VerifiedBlock],
    head: AcceptedBlock,
    *,
    unusable: Sequence[Hash] = (),
    beside: Beside = nothing,
    before: Callable[[], None] = at_once,
) -> None:
    """Accept blocks that follow each other: commit all or nothing, move this process, tell others.

    Args:
        chain: Which chain.
        made: The blocks, executed.
        head: The parent of the first.
        unusable: Of the pool, what can never be mined and goes too.
        beside: Called for each block after it was written, in the same transaction.
        before: Called when nothing is written yet and nobody else can; what it raises ends it all.

    Raises:
        HeadMoved: `head` is not the head any more.
    """
    with chain.db.atomic(durable=True):
        chain.db.acquire(Lock.CCHAIN)
        if head_moved(chain, head):
            raise HeadMoved
        before()
        stored.commit(chain.db, made)
        for one in made:
            beside(one.block)
        chain.db.acquire(Lock.CCHAIN_POOL)
        rows.remove_mined(chain.db, (tx for one in made for tx in one.block.transactions))
        rows.remove(chain.db, unusable)
    _move(chain, made)


def _move(chain: EvmChain, made: Sequence[VerifiedBlock]) -> None:
    """Move this process to the new head, and tell the others."""
    memory = chain.memory
    memory.pool.changed()
    last = made[-1]
    chain.trie.commit(last.trie.root)
    for one in made:
        memory.advance(one.block, one.executed.changes)
    notifications.head_accepted(last.block.number, last.block.hash)
