"""How much waits for a block."""

from typing import NamedTuple

from chaindb import sql

_WAITING = "SELECT COUNT(*), COALESCE(SUM(size), 0) FROM platform_app_mempooltx"


class Waiting(NamedTuple):
    """What the mempool holds."""

    txs: int
    size: int
    """Bytes of all of them."""


def waiting() -> Waiting:
    """Return how many transactions wait, and their bytes. The index on sizes alone answers it."""
    count, size = sql.rows(_WAITING)[0]
    return Waiting(count, int(size))
