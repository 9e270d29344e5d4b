"""What monitoring asks of the C-Chain every few seconds: small questions to rows, at most four."""

from typing import NamedTuple

from cchain_app.chain import EvmChain
from cchain_app.memory import PoolTag
from cchain_app.selectors import pool

_HEAD = """
SELECT number, timestamp, base_fee, gas_used, gas_limit, size, transaction_count
FROM cchain_app_block ORDER BY number DESC LIMIT 1
"""
_RECENT = """
SELECT COUNT(*), COALESCE(SUM(transaction_count), 0), COALESCE(SUM(gas_used), 0)
FROM cchain_app_block WHERE timestamp > %s
"""
_WAITING = "SELECT COUNT(*), COALESCE(SUM(size), 0), MAX(id) FROM cchain_app_pooltransaction"


class Head(NamedTuple):
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


def head(chain: EvmChain) -> Head | None:
    """Return the last block, or None when there is no genesis block."""
    row = chain.db.row(_HEAD)
    if row is None:
        return None
    number, timestamp, base_fee, *sizes = row
    return Head(number, timestamp, None if base_fee is None else int(base_fee), *sizes)


def recent(chain: EvmChain, since: int) -> Recent:
    """Return what blocks hold whose time is after `since` (Unix seconds)."""
    ((blocks, transactions, gas_used),) = chain.db.rows(_RECENT, (since,))
    return Recent(blocks, int(transactions), int(gas_used))


def waiting(chain: EvmChain, height: int) -> Waiting:
    """Return what the pool holds on the block at a height, the last one."""
    ((count, size, newest),) = chain.db.rows(_WAITING)
    tag = PoolTag(height, count, newest)
    pending, queued = chain.memory.counts.of(tag, lambda: pool.counts(chain))
    return Waiting(pending, queued, int(size))
