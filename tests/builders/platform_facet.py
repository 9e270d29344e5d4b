"""A facet that exists in tests only: counters by ID, composed without a change of `Diff` and `DatabaseState`."""

from collections.abc import Mapping
from typing import Protocol, Self

from chaindb.database import Database
from platform_app.state.chain import Diff
from platform_app.state.facets import Facet, FacetDiff
from platform_app.store.facets import Commit, FacetRows
from platform_app.store.state import DatabaseState
from primitives.ids import ID

TABLE = "CREATE TABLE counter (id {binary} PRIMARY KEY, number integer NOT NULL)"
_BINARY = {"sqlite": "BLOB", "postgresql": "bytea"}


class Counters(Protocol):
    """The reads of this facet."""

    def get(self, counter_id: ID) -> int: ...


class CounterDiff(FacetDiff[Counters]):
    """Changes of counters."""

    __slots__ = ("_counters",)

    def __init__(self, parent: Counters) -> None:
        super().__init__(parent)
        self._counters: dict[ID, int] = {}

    def get(self, counter_id: ID) -> int:
        known = self._counters.get(counter_id)
        return self._parent.get(counter_id) if known is None else known

    def set(self, counter_id: ID, number: int) -> None:
        self._counters[counter_id] = number

    def apply(self, into: Self) -> None:
        for counter_id, number in self._counters.items():
            into.set(counter_id, number)

    def changes(self) -> Mapping[ID, int]:
        return dict(self._counters)


class CounterRows(FacetRows):
    """Reads and writes counters."""

    def get(self, counter_id: ID) -> int:
        row = self._db.row("SELECT number FROM counter WHERE id = %s", (counter_id,))
        return 0 if row is None else row[0]

    @staticmethod
    def write(commit: Commit) -> None:
        with commit.db.connection.cursor() as cursor:
            for counter_id, number in commit.diff.counters.changes().items():
                cursor.execute("DELETE FROM counter WHERE id = %s", (counter_id,))
                cursor.execute("INSERT INTO counter VALUES (%s, %s)", (counter_id, number))


class CountingState(DatabaseState):
    """The rows with the additional facet."""

    def __init__(self, db: Database) -> None:
        super().__init__(db)
        self.counters = CounterRows(db)


class CountingDiff(Diff):
    """A diff with the additional facet."""

    counters = Facet(CounterDiff)


def create_table(db: Database) -> None:
    """Create the table of the facet."""
    with db.connection.cursor() as cursor:
        cursor.execute(TABLE.format(binary=_BINARY[db.connection.vendor]))
