"""What monitoring and health ask of the C-Chain every few seconds: small questions to rows."""

from typing import NamedTuple

from cchain_app.chain import EvmChain
from cchain_app.memory import PoolTag
from cchain_app.pool.ordering import AccountQueue
from cchain_app.selectors import blocks, pool
from cchain_app.selectors.blocks import base_fee_after
from cchain_app.store import pool as rows
from chaindb import clock

_HEAD = """
SELECT number, timestamp, base_fee, gas_used, gas_limit, size, transaction_count
FROM cchain_app_block ORDER BY number DESC LIMIT 1
"""
_RECENT = """
SELECT COUNT(*), COALESCE(SUM(transaction_count), 0), COALESCE(SUM(gas_used), 0)
FROM cchain_app_block WHERE timestamp > %s
"""
_WAITING = "SELECT COUNT(*), COALESCE(SUM(size), 0), MAX(id) FROM cchain_app_pooltransaction"


class HeadFigures(NamedTuple):
    """The last block."""

    number: int
    timestamp: int
    """Unix seconds."""
    base_fee: int | None
    """Wei for each gas."""
    gas_used: int
    gas_limit: int
    size: int
    """Bytes."""
    transactions: int


class Recent(NamedTuple):
    """What the blocks since a moment hold together."""

    blocks: int
    transactions: int
    gas_used: int


class Waiting(NamedTuple):
    """What the pool holds."""

    pending: int
    queued: int
    size: int
    """Bytes of all envelopes."""


def head(chain: EvmChain) -> HeadFigures | None:
    """Return the last block, or None when there is no genesis block."""
    row = chain.db.row(_HEAD)
    if row is None:
        return None
    number, timestamp, base_fee, *sizes = row
    return HeadFigures(number, timestamp, None if base_fee is None else int(base_fee), *sizes)


def recent(chain: EvmChain, since: int) -> Recent:
    """Return what blocks hold whose time is after `since` (Unix seconds)."""
    ((blocks, transactions, gas_used),) = chain.db.rows(_RECENT, (since,))
    return Recent(blocks, int(transactions), int(gas_used))


def waiting(chain: EvmChain, height: int) -> Waiting:
    """Return what the pool holds on the block at a height, the last one."""
    ((count, size, newest),) = chain.db.rows(_WAITING)
    tag = PoolTag(height, count, newest)
    pending, queued = pool.counts_of(chain, tag)
    return Waiting(pending, queued, int(size))


MOVES = 2
"""Seconds after a block in which nothing is due: the chain moves, and the pool need not be looked at."""


class Due(NamedTuple):
    """A block that could be made."""

    height: int
    since: int
    """Unix seconds by the node's clock."""
    transactions: int
    """That could be in it."""


def due(chain: EvmChain, now: int) -> Due | None:
    """Return the block that could be made of the pool, or None while there is nothing to put in.

    Queued transactions, and those that do not pay the next block's base fee, make no block due. Who
    waits longer than the head is old waits since then: the chain went on without it, for better ones. None before the genesis too.

    Args:
        chain: Which chain.
        now: Unix seconds by the node's clock.
    """
    last = head(chain)
    if last is None or now - last.timestamp < MOVES:
        return None
    waiting = rows.entries(chain.db, chain.memory.pool)
    if not waiting or not blocks.are_made(chain):
        return None
    parent = blocks.catch_up(chain)
    fee = base_fee_after(chain, parent) or 0
    queues = [
        queue for queue in pool.queues(chain, waiting).values() if _can_run(chain, queue, fee)
    ]
    if not queues:
        return None
    # What waits arrived by wall time, and the caller's clock may be ahead of that.
    ahead = now - clock.wall()
    oldest = ahead + min(queue.pending[0].received_at for queue in queues)
    count = sum(len(queue.pending) for queue in queues)
    return Due(parent.number + 1, max(oldest, parent.header.timestamp), count)


def _can_run(chain: EvmChain, queue: AccountQueue, base_fee: int) -> bool:
    """Say whether the sender's next transaction may be in a block: those behind it wait for it."""
    if not queue.pending:
        return False
    return queue.pending[0].effective_tip(base_fee) >= chain.node.pool_min_tip
