"""Accepting blocks: the one way in which the chain grows.

Whoever made them, they were executed before, without a lock; they are written under the chain's lock if the
head is still their parent.
"""

from collections.abc import Sequence

from cchain_app import notifications
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.processing import VerifiedBlock
from cchain_app.store import chain as stored
from cchain_app.store import pool as rows
from chaindb.locks import Lock
from chainvm.port import HeadMoved, Written
from primitives.evm import Hash
from primitives.ids import ID


def head_moved(chain: EvmChain, head: AcceptedBlock) -> bool:
    """Say whether the rows have another head by now."""
    return stored.head_pointer(chain.db) != (head.number, head.hash)


def accept(
    chain: EvmChain,
    verified: Sequence[VerifiedBlock],
    head: AcceptedBlock,
    *,
    unusable: Sequence[Hash],
    written: Written,
) -> None:
    """Accept blocks that follow each other: commit all or nothing, move this process, tell others.

    Args:
        chain: Which chain.
        verified: The blocks, executed.
        head: The parent of the first.
        unusable: Of the pool, what can never be mined and goes too.
        written: Called for each block in the transaction, when nobody else can write to the chain and
            no block is written yet; what it raises undoes all.

    Raises:
        HeadMoved: `head` is not the head any more.
    """
    with chain.db.atomic(durable=True):
        chain.db.acquire(Lock.CCHAIN)
        if head_moved(chain, head):
            raise HeadMoved
        for one in verified:
            written(ID(one.block.hash))
        stored.commit(chain.db, verified)
        chain.db.acquire(Lock.CCHAIN_POOL)
        rows.remove_mined(chain.db, (tx for one in verified for tx in one.block.transactions))
        rows.remove(chain.db, unusable)
    _move(chain, verified)


def _move(chain: EvmChain, verified: Sequence[VerifiedBlock]) -> None:
    """Move this process to the new head, and tell the others."""
    memory = chain.memory
    memory.pool.changed()
    for one in verified:
        memory.advance(one.block, one.executed.changes)
    last = verified[-1].block
    notifications.head_accepted(chain, last.number, last.hash)
    for listener in chain.on_accepted:
        listener([one.block for one in verified])
