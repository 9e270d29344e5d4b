"""The P-Chain's blocks and transactions per minute."""

from typing import NamedTuple

from chaindb.minutes import Blocks, per_minute
from platform_app.chain import PlatformChain

_BLOCKS = Blocks("platform_app_block", "height", "time", ("tx_count",))


class PlatformMinute(NamedTuple):
    """Totals of the blocks of a minute."""

    blocks: int
    transactions: int


def minutes(chain: PlatformChain, now: int) -> list[PlatformMinute]:
    """Return the last minutes up to `now` (Unix seconds), the oldest first, as far back as `per_minute` counts."""
    return [PlatformMinute(*sums) for sums in per_minute(chain.db, _BLOCKS, now)]
