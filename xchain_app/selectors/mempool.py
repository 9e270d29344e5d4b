"""The mempool's size, and since when the next block is due."""

from typing import NamedTuple

from xchain_app.chain import AvmChain

_TOTALS = "SELECT COUNT(*), COALESCE(SUM(size), 0) FROM xchain_app_xmempooltx"
_OLDEST = "SELECT received_at FROM xchain_app_xmempooltx ORDER BY id LIMIT 1"


class XMempoolTotals(NamedTuple):
    """The number and size of the transactions in the mempool."""

    txs: int
    size: int
    """The total bytes of all transactions."""


class DueXBlock(NamedTuple):
    """A block that could be built now."""

    height: int
    since: int
    """Unix seconds by the node's clock."""
    transactions: int
    """The number of transactions that wait for it."""


def waiting(chain: AvmChain) -> XMempoolTotals:
    """Return the number and total bytes of the pending transactions."""
    count, size = chain.db.rows(_TOTALS)[0]
    return XMempoolTotals(count, int(size))


def due(chain: AvmChain) -> DueXBlock | None:
    """Return the block that pending transactions make due; None if no transaction is pending.

    A transaction that arrived before the last block counts as waiting since that block's time.

    Raises:
        NoXChain: The database holds no chain.
    """
    oldest = chain.db.row(_OLDEST)
    if oldest is None:
        return None
    tip = chain.tip()
    return DueXBlock(tip.height + 1, max(int(oldest[0]), tip.timestamp), waiting(chain).txs)
