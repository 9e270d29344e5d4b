"""The mempool's size and transactions, and since when the next block is due."""

from collections.abc import Sequence
from typing import NamedTuple

from platform_app.chain import PlatformChain
from platform_app.executor.clock import next_staker_change
from primitives.ids import ID

_WAITING = "SELECT COUNT(*), COALESCE(SUM(size), 0) FROM platform_app_mempooltx"


class MempoolTotals(NamedTuple):
    """The number and size of the transactions in the mempool."""

    txs: int
    size: int
    """The total bytes of all transactions."""


def waiting(chain: PlatformChain) -> MempoolTotals:
    """Return the number and total bytes of the pending transactions, from the index on sizes alone."""
    count, size = chain.db.rows(_WAITING)[0]
    return MempoolTotals(count, int(size))


_NEWEST = "SELECT tx_id FROM platform_app_mempooltx ORDER BY id DESC LIMIT %s"
_RAW = "SELECT tx_id, raw FROM platform_app_mempooltx WHERE tx_id IN ({keys})"


def newest(chain: PlatformChain, limit: int) -> list[ID]:
    """Return the IDs of the last transactions to arrive, newest last."""
    return [ID(bytes(row[0])) for row in reversed(chain.db.rows(_NEWEST, (limit,)))]


def raws(chain: PlatformChain, tx_ids: Sequence[ID]) -> dict[ID, bytes]:
    """Return the bytes of those of these transactions that are pending."""
    return {
        ID(bytes(tx_id)): bytes(raw) for tx_id, raw in chain.db.rows_by_keys(_RAW, list(tx_ids))
    }


_OLDEST = "SELECT received_at FROM platform_app_mempooltx ORDER BY id LIMIT 1"
_COUNT = "SELECT count(*) FROM platform_app_mempooltx"


class BuildableBlock(NamedTuple):
    """A block that could be built now."""

    height: int
    since: int
    """Unix seconds by the node's clock."""
    transactions: int
    """The number of transactions that wait for it; zero if only the clock makes it due."""


def due(chain: PlatformChain, now: int) -> BuildableBlock | None:
    """Return the block that pending transactions or the clock make due; None if no block is due.

    A transaction that arrived before the last block's chain time counts as waiting since that time.

    Args:
        chain: The chain.
        now: Unix seconds by the node's clock.

    Raises:
        NoGenesis: The database holds no chain.
    """
    tip, moments = chain.tip(), []
    oldest = chain.db.row(_OLDEST)
    if oldest is not None:
        moments.append(max(int(oldest[0]), tip.timestamp))
    change = next_staker_change(chain.state(), chain.config, limit=now + 1)
    if change <= now:
        moments.append(change)
    if not moments:
        return None
    (waiting,) = chain.db.row(_COUNT) or (0,)
    return BuildableBlock(tip.height + 1, min(moments), int(waiting))
