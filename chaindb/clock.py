"""The node's clock: wall time plus an offset in the database, the same for both chains.

Pure code gets time as an argument; services take it from here. The offset is moved on a local network alone
(design: staking time travel), and forward only, unless a chain to develop against goes back (then as far as the
other chain's last block allows) or both chains do, to a named snapshot.

Unspecified: a C-Chain to develop against that goes back further than the P-Chain's last block has a time before the
node's from then on, by as much as is missing; both go forward together.
"""

import time
from typing import Final

from chaindb.bulk import Question
from chaindb.database import Database
from chaindb.models import Clock

_DATABASE: Final = Database()
"""The node's own, where its clock is, wherever the rows of its chains are."""


LATEST: Final = 253_370_764_800
"""Unix seconds, the beginning of the year 9999: the last year that answers can say, and the node's clock is never set later.

Unspecified: a block's own time may be later; the clock does not go on from it then."""

_OFFSET: Final[Question] = ('SELECT "offset", behind FROM chaindb_clock', ())


class ClockTooLate(Exception):
    """The clock was to be moved beyond `LATEST`."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"{seconds} seconds later it would be after the year 9998")
        self.seconds = seconds


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


def cchain_now(db: Database = _DATABASE) -> int:
    """Return the time at which the C-Chain's next block is made, in Unix seconds. As `now`."""
    return int(time.time()) + cchain_offset(db)


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
    ahead, _ = _read(db)
    return ahead


def cchain_offset(db: Database = _DATABASE) -> int:
    """Return how many seconds the C-Chain's time is ahead of wall time. As `offset`."""
    ahead, behind = _read(db)
    return ahead - behind


def _read(db: Database) -> tuple[int, int]:
    found = (db if questions(db) else _DATABASE).row(*_OFFSET)
    return (0, 0) if found is None else (int(found[0]), int(found[1]))


def move(seconds: int) -> int:
    """Move the clock forward and return the new offset. The caller holds the transaction.

    Raises:
        ClockMovesForward: `seconds` is negative.
        ClockTooLate: It would show a time after `LATEST`.
    """
    if seconds < 0:
        raise ClockMovesForward
    row = _held()
    if wall() + row.offset + seconds > LATEST:
        raise ClockTooLate(seconds)
    row.offset += seconds
    row.save(update_fields=["offset"])
    return row.offset


def reach(moment: int) -> int:
    """Move the clock forward to a moment (Unix seconds), unless it shows it already.

    Returns by how many seconds. The caller holds the transaction.
    """
    row = _held()
    behind = max(0, min(moment, LATEST) - wall() - row.offset)
    if behind:
        row.offset += behind
        row.save(update_fields=["offset"])
    return behind


def show(moment: int, *, least: int) -> int:
    """Set the clock to a moment (Unix seconds), back too, but not below `least` nor beyond `LATEST`; return the new offset.

    The C-Chain's time is that moment, also below `least`. For chains to develop against alone, that go back
    themselves. The caller holds the transaction.
    """
    return restore(moment - wall(), least=least)


def restore(seconds: int, *, least: int) -> int:
    """Let the clock be so many seconds ahead of wall time, or behind it, but not below `least`. As `show`."""
    ahead = min(max(seconds, least - wall()), LATEST - wall())
    behind = max(ahead - seconds, 0)
    _DATABASE.upsert(Clock, ("id", "offset", "behind"), [(1, ahead, behind)])
    return ahead


def _held() -> Clock:
    """Return the clock's row; until the transaction ends nobody else moves it."""
    row, _ = Clock.objects.select_for_update().get_or_create(id=1, defaults={"offset": 0})
    return row
