"""How much waits for a block."""

from typing import NamedTuple

from platform_app.chain import PlatformChain

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
