"""The node's clock: wall time plus an offset in the database, the same for both chains.

Pure code gets time as an argument; services take it from here. The offset is moved forward only, on
a local network (design: staking time travel), and never back but together with the chains, to a named
snapshot of them all.
"""

import time
from typing import Final

from chaindb.database import Database
from chaindb.models import Clock

_DATABASE: Final = Database()
"""The node's own, where its clock is, wherever the rows of its chains are."""


class ClockMovesForward(Exception):
    """The clock was to be moved back."""

    def __init__(self) -> None:
        super().__init__("the clock can only be moved forward")


def now() -> int:
    """Return the node's time in Unix seconds."""
    return int(time.time()) + offset()


def offset() -> int:
    """Return how many seconds the node's clock is ahead of wall time.

    Read anew each time: whoever moves it may be another process, and both chains must agree.
    """
    found = _DATABASE.row('SELECT "offset" FROM chaindb_clock')
    return 0 if found is None else int(found[0])


def move(seconds: int) -> int:
    """Move the clock forward and return the new offset. The caller holds the transaction.

    Raises:
        ClockMovesForward: `seconds` is negative.
    """
    if seconds < 0:
        raise ClockMovesForward
    row = _held()
    row.offset += seconds
    row.save(update_fields=["offset"])
    return row.offset


def reach(moment: int) -> int:
    """Move the clock forward to a moment (Unix seconds), unless it shows it already.

    Returns by how many seconds. The caller holds the transaction.
    """
    row = _held()
    behind = max(0, moment - int(time.time()) - row.offset)
    if behind:
        row.offset += behind
        row.save(update_fields=["offset"])
    return behind


def _held() -> Clock:
    """Return the clock's row; until the transaction ends nobody else moves it."""
    row, _ = Clock.objects.select_for_update().get_or_create(id=1, defaults={"offset": 0})
    return row
