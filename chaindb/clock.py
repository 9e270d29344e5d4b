"""The node's clock: wall time plus an offset in the database, the same for all chains.

Pure code gets the time as an argument; services take it from here. The offset changes only on a
local network (design: staking time travel). It only moves forward, with two exceptions: a
development chain is rewound (then as far as the other chain's last block allows), or all chains
are restored to a named snapshot.

Unspecified: if a development C-Chain is rewound further than the P-Chain's last block, its time is
behind the node's clock from then on, by the difference; both move forward together.
"""

import time
from typing import Final

from chaindb.bulk import SqlQuery
from chaindb.database import Database
from chaindb.models import Clock

_DATABASE: Final = Database()
"""The node's own database, which has the clock even if the rows of the chains are elsewhere."""


LATEST: Final = 253_370_764_800
"""Unix seconds of the beginning of the year 9999, the last year that responses can express. The
node's clock is never set later.

Unspecified: a block's own timestamp may be later; the clock then does not follow it."""

_OFFSET: Final[SqlQuery] = ('SELECT "offset", behind FROM chaindb_clock', ())


class ClockTooLate(Exception):
    """The clock was to be moved past `LATEST`."""

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
        db: A database that may have prefetched `queries`, if the clock is in it.
    """
    return int(time.time()) + offset(db)


def cchain_now(db: Database = _DATABASE) -> int:
    """Return the timestamp of the C-Chain's next block in Unix seconds. `db` is as for `now`."""
    return int(time.time()) + cchain_offset(db)


def queries(db: Database) -> list[SqlQuery]:
    """Return the queries of `now` to this database: none if the clock is in another database."""
    return [_OFFSET] if db.alias == _DATABASE.alias else []


def wall() -> int:
    """Return wall time in Unix seconds, for waiting that must not depend on moves of the clock."""
    return int(time.time())


def offset(db: Database = _DATABASE) -> int:
    """Return how many seconds the node's clock is ahead of wall time.

    The offset is read from the database each time, because another process may move the clock and
    all chains must agree.
    """
    ahead, _ = _read(db)
    return ahead


def cchain_offset(db: Database = _DATABASE) -> int:
    """Return how many seconds the C-Chain's time is ahead of wall time. `db` is as for `now`."""
    ahead, behind = _read(db)
    return ahead - behind


def _read(db: Database) -> tuple[int, int]:
    row = (db if queries(db) else _DATABASE).row(*_OFFSET)
    return (0, 0) if row is None else (int(row[0]), int(row[1]))


def move(seconds: int) -> int:
    """Move the clock forward and return the new offset. The caller holds the transaction.

    Raises:
        ClockMovesForward: `seconds` is negative.
        ClockTooLate: The clock would show a time after `LATEST`.
    """
    if seconds < 0:
        raise ClockMovesForward
    row = _locked_row()
    if wall() + row.offset + seconds > LATEST:
        raise ClockTooLate(seconds)
    row.offset += seconds
    row.save(update_fields=["offset"])
    return row.offset


def reach(moment: int) -> int:
    """Move the clock forward to a time (Unix seconds), unless it has already passed it.

    Return by how many seconds it moved. The caller holds the transaction.
    """
    row = _locked_row()
    behind = max(0, min(moment, LATEST) - wall() - row.offset)
    if behind:
        row.offset += behind
        row.save(update_fields=["offset"])
    return behind


def show(moment: int, *, minimum: int) -> int:
    """Set the clock to a time (Unix seconds), forward or back; return the new offset.

    The clock stays between `minimum` and `LATEST`. The C-Chain's time is the given time, even if that
    is before `minimum`. Only for development chains that are being rewound. The caller holds the
    transaction.
    """
    return restore(moment - wall(), minimum=minimum)


def restore(seconds: int, *, minimum: int) -> int:
    """Set the offset to wall time, which may be negative, but no time before `minimum`. As `show`."""
    ahead = min(max(seconds, minimum - wall()), LATEST - wall())
    behind = max(ahead - seconds, 0)
    _DATABASE.upsert(Clock, ("id", "offset", "behind"), [(1, ahead, behind)])
    return ahead


def _locked_row() -> Clock:
    """Return the row of the clock, locked until the transaction ends."""
    row, _ = Clock.objects.select_for_update().get_or_create(id=1, defaults={"offset": 0})
    return row
