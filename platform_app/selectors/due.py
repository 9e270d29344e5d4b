"""Whether there is something to make the next block of, and since when: what health asks."""

from typing import NamedTuple

from platform_app.chain import PlatformChain
from platform_app.executor.clock import next_staker_change

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
