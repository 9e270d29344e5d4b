"""Stakers in their order, read as far as somebody looks."""

from collections.abc import Iterator

from chaindb.database import Database
from platform_app.state.staker import Staker
from platform_app.store import rows

_CURRENT = (
    rows.STAKERS
    + "WHERE phase = 2 AND (end_time, priority, tx_id) > (%s, %s, %s) "
    + "ORDER BY end_time, priority, tx_id LIMIT %s"
)
_PENDING = (
    rows.STAKERS
    + "WHERE phase = 1 AND (start_time, priority, tx_id) > (%s, %s, %s) "
    + "ORDER BY start_time, priority, tx_id LIMIT %s"
)

_FIRST = 3
_MOST = 2048
_BEFORE_ALL = (-1, 0, b"")


class StakerWalk:
    """The current or the pending set in staker order, remembered as far as it was read.

    Most look at the first staker only; whoever walks on reads more at a time.
    """

    __slots__ = ("_complete", "_db", "_read", "_size", "_sql")

    def __init__(self, db: Database, *, pending: bool) -> None:
        self._db = db
        self._sql = _PENDING if pending else _CURRENT
        self._read: list[Staker] = []
        self._size = _FIRST
        self._complete = False

    def __iter__(self) -> Iterator[Staker]:
        place = 0
        while place < len(self._read) or self._read_on():
            yield self._read[place]
            place += 1

    def _read_on(self) -> bool:
        """Read the next stakers; return whether there are any."""
        if self._complete:
            return False
        behind = self._read[-1].order if self._read else _BEFORE_ALL
        found = self._db.rows(self._sql, (*behind, self._size))
        self._complete = len(found) < self._size
        self._size = min(self._size * 8, _MOST)
        self._read.extend(map(rows.staker_of, found))
        return bool(found)
