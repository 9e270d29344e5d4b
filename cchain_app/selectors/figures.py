"""Cheap database queries that monitoring and health make every few seconds, and totals of blocks per minute."""

from typing import NamedTuple

from cchain_app.chain import EvmChain
from cchain_app.memory import PoolTag
from cchain_app.pool.entry import AccountQueue
from cchain_app.selectors import blocks, pool
from cchain_app.selectors.blocks import base_fee_after
from cchain_app.store import pool as pool_rows
from cchain_app.store.coreth import LastFields, last_fields
from chaindb import clock
from chaindb.minutes import Blocks, per_minute

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
    """Wei per gas."""
    gas_used: int
    gas_limit: int
    size: int
    """Bytes."""
    transactions: int


class RecentTotals(NamedTuple):
    """Totals of the blocks since a time."""

    blocks: int
    transactions: int
    gas_used: int


class PoolTotals(NamedTuple):
    """Totals of the pool."""

    pending: int
    queued: int
    size: int
    """Bytes of all envelopes."""


def head(chain: EvmChain) -> HeadFigures | None:
    """Return the last block, or None if there is no genesis block."""
    row = chain.db.row(_HEAD)
    if row is None:
        return None
    number, timestamp, base_fee, *sizes = row
    return HeadFigures(number, timestamp, None if base_fee is None else int(base_fee), *sizes)


def coreth_fields(chain: EvmChain) -> LastFields | None:
    """Return what only coreth's headers say, of the last block; None: the chain has other headers."""
    return last_fields(chain.db) if chain.is_of_coreth else None


def recent(chain: EvmChain, since: int) -> RecentTotals:
    """Return the totals of the blocks with a time after `since` (Unix seconds)."""
    ((blocks, transactions, gas_used),) = chain.db.rows(_RECENT, (since,))
    return RecentTotals(blocks, int(transactions), int(gas_used))


def waiting(chain: EvmChain, height: int) -> PoolTotals:
    """Return the totals of the pool on the last block, whose height is given."""
    ((count, size, newest),) = chain.db.rows(_WAITING)
    tag = PoolTag(height, count, newest)
    pending, queued = pool.counts_of(chain, tag)
    return PoolTotals(pending, queued, int(size))


MOVES = 2
"""Seconds after a block in which no block is due: the chain is advancing, so the pool is not read."""


class DueBlock(NamedTuple):
    """A block that could be made."""

    height: int
    since: int
    """Unix seconds by the node's clock."""
    transactions: int
    """Number of transactions that could be in the block."""


def due(chain: EvmChain, now: int) -> DueBlock | None:
    """Return the block that could be made from the pool, or None if no transaction can be included.

    Queued transactions, and transactions that do not pay the next block's base fee, make no block due. For a
    transaction older than the head the time counts from the head, because that block preferred better ones. The
    result is None before the genesis block too.

    Args:
        chain: The chain.
        now: Unix seconds by the node's clock.
    """
    last = head(chain)
    if last is None or now - last.timestamp < MOVES:
        return None
    waiting = pool_rows.entries(chain.db, chain.memory.pool)
    if not waiting or not blocks.are_made(chain):
        return None
    parent = blocks.catch_up(chain)
    fee = base_fee_after(chain, parent, now) or 0
    queues = [
        queue for queue in pool.queues(chain, waiting).values() if _can_run(chain, queue, fee)
    ]
    if not queues:
        return None
    # Arrival times are wall times, and the caller's clock may be ahead of that.
    ahead = now - clock.wall()
    oldest = ahead + min(queue.pending[0].received_at for queue in queues)
    count = sum(len(queue.pending) for queue in queues)
    return DueBlock(parent.number + 1, max(oldest, parent.header.timestamp), count)


def _can_run(chain: EvmChain, queue: AccountQueue, base_fee: int) -> bool:
    """Return whether the sender's next transaction may be in a block; the sender's later ones depend on it."""
    if not queue.pending:
        return False
    return queue.pending[0].effective_tip(base_fee) >= chain.settings.pool.min_tip


_BLOCKS = Blocks("cchain_app_block", "number", "timestamp", ("transaction_count", "gas_used"))


class EvmMinute(NamedTuple):
    """Totals of the blocks of a minute."""

    blocks: int
    transactions: int
    gas_used: int


def minutes(chain: EvmChain, now: int) -> list[EvmMinute]:
    """Return the last minutes up to `now` (Unix seconds), the oldest first, as far as `per_minute` has them."""
    return [EvmMinute(*sums) for sums in per_minute(chain.db, _BLOCKS, now)]
