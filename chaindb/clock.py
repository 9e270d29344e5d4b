"""The node's clock: wall time plus an offset in the database, the same for both chains.

Pure code gets time as an argument; services take it from here. The offset is moved on a local network alone
(design: staking time travel), and forward only, unless a chain to develop against goes back (then as far as the
other chain's last block allows) or both chains do, to a named snapshot.
"""

import time
from typing import Final

from chaindb.bulk import Question
from chaindb.database import Database
from chaindb.models import Clock

_DATABASE: Final = Database()
"""The node's own, where its clock is, wherever the rows of its chains are."""


_OFFSET: Final[Question] = ('SELECT "offset" FROM chaindb_clock', ())


class ClockMovesForward(Exception):
    """The clock was to be moved back."""

    def __init__(self) -> None:
        super().__init__("the clock can only be moved forward")


def now(db: Database = _DATABASE) -> int:
    """Return the node's time in Unix seconds.

    Args:
        db: Who has read ahead what `questions` says, if the clock is in that database.
    """
    return int(time.time()) + offset(db)


def questions(db: Database) -> list[Question]:
    """Return what `now` will ask a database: nothing where the clock is in another one."""
    return [_OFFSET] if db.alias == _DATABASE.alias else []


def wall() -> int:
    """Return wall time in Unix seconds: for what waits, which does not wait longer when the clock is moved."""
    return int(time.time())


def offset(db: Database = _DATABASE) -> int:
    """Return how many seconds the node's clock is ahead of wall time.

    Read anew each time: whoever moves it may be another process, and both chains must agree.
    """
    found = (db if questions(db) else _DATABASE).row(*_OFFSET)
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


def show(moment: int, *, least: int) -> int:
    """Set the clock to a moment (Unix seconds), back too, but not below `least`; return the new offset.

    For chains to develop against alone, that go back themselves. The caller holds the transaction.
    """
    return restore(moment - wall(), least=least)


def restore(seconds: int, *, least: int) -> int:
    """Let the clock be so many seconds ahead of wall time, or behind it, but not below `least`. As `show`."""
    ahead = max(seconds, least - wall())
    _DATABASE.upsert(Clock, ("id", "offset"), [(1, ahead)])
    return ahead


def _held() -> Clock:
    """Return the clock's row; until the transaction ends nobody else moves it."""
    row, _ = Clock.objects.select_for_update().get_or_create(id=1, defaults={"offset": 0})
    return row
