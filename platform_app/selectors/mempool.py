"""What waits for a block, how much of it, and since when the next one is due."""

from collections.abc import Sequence
from typing import NamedTuple

from platform_app.chain import PlatformChain
from platform_app.executor.clock import next_staker_change
from primitives.ids import ID

_WAITING = "SELECT COUNT(*), COALESCE(SUM(size), 0) FROM platform_app_mempooltx"


class Waiting(NamedTuple):
    """What the mempool holds."""

    txs: int
    size: int
    """Bytes of all of them."""


def waiting(chain: PlatformChain) -> Waiting:
    """Return how many transactions wait, and their bytes. The index on sizes alone answers it."""
    count, size = chain.db.rows(_WAITING)[0]
    return Waiting(count, int(size))


_NEWEST = "SELECT tx_id FROM platform_app_mempooltx ORDER BY id DESC LIMIT %s"
_RAW = "SELECT tx_id, raw FROM platform_app_mempooltx WHERE tx_id IN ({keys})"


def newest(chain: PlatformChain, limit: int) -> list[ID]:
    """Return the IDs of the transactions that came last, newest last."""
    return [ID(bytes(row[0])) for row in reversed(chain.db.rows(_NEWEST, (limit,)))]


def raws(chain: PlatformChain, tx_ids: Sequence[ID]) -> dict[ID, bytes]:
    """Return the bytes of those of these transactions that wait."""
    return {
        ID(bytes(tx_id)): bytes(raw) for tx_id, raw in chain.db.rows_by_keys(_RAW, list(tx_ids))
    }


_OLDEST = "SELECT received_at FROM platform_app_mempooltx ORDER BY id LIMIT 1"
_COUNT = "SELECT count(*) FROM platform_app_mempooltx"


class Due(NamedTuple):
    """A block that could be made."""

    height: int
    since: int
    """Unix seconds by the node's clock."""
    transactions: int
    """That wait for it; none where the clock brings it."""


def due(chain: PlatformChain, now: int) -> Due | None:
    """Return the block that waiting transactions or the clock bring, or None where nothing does.

    A transaction that waits longer than chain time is old waits since then.

    Args:
        chain: Whose.
        now: Unix seconds by the node's clock.

    Raises:
        NoGenesis: The database holds no chain.
    """
    tip, moments = chain.tip(), []
    oldest = chain.db.row(_OLDEST)
    if oldest is not None:
        moments.append(max(int(oldest[0]), tip.timestamp))
    change = next_staker_change(chain.state())
    if change is not None and change <= now:
        moments.append(change)
    if not moments:
        return None
    (waiting,) = chain.db.row(_COUNT) or (0,)
    return Due(tip.height + 1, min(moments), int(waiting))
