"""Cheap queries for monitoring and the dashboard: blocks, transactions and stakers in numbers."""

from typing import NamedTuple

from chaindb.minutes import Blocks, per_minute
from platform_app.chain import PlatformChain
from primitives.ids import PRIMARY_NETWORK_ID

_RECENT = "SELECT COUNT(*), COALESCE(SUM(tx_count), 0) FROM platform_app_block WHERE time > %s"
_PENDING = """
SELECT COUNT(*), COALESCE(SUM(CASE WHEN is_delegator THEN 1 ELSE 0 END), 0)
FROM platform_app_staker WHERE phase = 1 AND subnet_id = %s
"""


class RecentBlocks(NamedTuple):
    """Totals of the blocks since a moment."""

    blocks: int
    txs: int


class Pending(NamedTuple):
    """The numbers of stakers on the Primary Network that start in the future."""

    validators: int
    delegators: int


def recent(chain: PlatformChain, since: int) -> RecentBlocks:
    """Return totals of the blocks whose chain time is after `since` (Unix seconds)."""
    ((blocks, txs),) = chain.db.rows(_RECENT, (since,))
    return RecentBlocks(blocks, int(txs))


def pending(chain: PlatformChain) -> Pending:
    """Return the number of pending stakers."""
    ((stakers, delegators),) = chain.db.rows(_PENDING, (PRIMARY_NETWORK_ID,))
    return Pending(stakers - int(delegators), int(delegators))


_BLOCKS = Blocks("platform_app_block", "height", "time", ("tx_count",))


class PlatformMinute(NamedTuple):
    """Totals of the blocks of a minute."""

    blocks: int
    transactions: int


def minutes(chain: PlatformChain, now: int) -> list[PlatformMinute]:
    """Return the last minutes up to `now` (Unix seconds), the oldest first, as far back as `per_minute` counts."""
    return [PlatformMinute(*sums) for sums in per_minute(chain.db, _BLOCKS, now)]
