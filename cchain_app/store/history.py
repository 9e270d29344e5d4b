"""Extent and pruning of the history: earlier values of accounts and slots, and rows of calls.

The new extent is written first, and rows are deleted afterwards. So a reader that reads rows and then finds the height
still within the extent has read all of them.

HistoryPruned
├── StatePruned     the state at a height was pruned
└── CallsPruned     the calls of a block were pruned
"""

from typing import Final

from cchain_app import models
from chaindb.database import Database, Rows, SqlQuery

FIRST_STATE_QUERY: Final[SqlQuery] = (
    "SELECT first_state FROM cchain_app_kepthistory WHERE id = 1",
    (),
)
_FIRST_CALL: Final = "SELECT first_call FROM cchain_app_kepthistory WHERE id = 1"
_CALLS_ABOVE: Final = "UPDATE cchain_app_kepthistory SET first_call = %s WHERE first_call > %s"
_ROOT: Final = "SELECT state_root FROM cchain_app_block WHERE number = %s"
_STATE_TABLES: Final = ("cchain_app_accountchange", "cchain_app_storagechange")
_CALL_TABLES: Final = ("cchain_app_call",)
_LAST_OF_PART: Final = (
    "SELECT max(id) FROM (SELECT id FROM {table} WHERE id < %s ORDER BY id LIMIT %s) part"
)


class HistoryPruned(Exception):
    """The requested history was pruned according to the settings."""


class StatePruned(HistoryPruned):
    """The state at a height was pruned.

    Unspecified: the message is go-ethereum's for a pruned state, because clients search for it.
    """

    def __init__(self, number: int, root: bytes) -> None:
        super().__init__(
            f"missing trie node {root.hex()} (path ) state 0x{root.hex()} is not available, not found"
        )
        self.number = number
        self.root = root


class CallsPruned(HistoryPruned):
    """The calls of a block were pruned while they were searched.

    Unspecified: the message is go-ethereum's for a block whose history was pruned.
    """

    def __init__(self, number: int) -> None:
        super().__init__("pruned history unavailable")
        self.number = number


def first_state(db: Database) -> int:
    """Return the first block whose state can be read."""
    return read_first_state(db.rows(*FIRST_STATE_QUERY))


def read_first_state(answer: Rows) -> int:
    """Return the first block whose state can be read, from the result of `FIRST_STATE_QUERY`."""
    return int(answer[0][0]) if answer else 0


def first_call(db: Database) -> int:
    """Return the first block whose calls are kept as rows, if they are written already."""
    row = db.row(_FIRST_CALL)
    return 0 if row is None else int(row[0])


def verify_state(db: Database, number: int) -> None:
    """Check that the state after a block is kept, after reading its rows; or before, to fail early.

    Raises:
        StatePruned: It was pruned.
    """
    if number < first_state(db):
        raise state_pruned(db, number)


def state_pruned(db: Database, number: int) -> StatePruned:
    """Return the error for a pruned state after a block."""
    row = db.row(_ROOT, [number])
    return StatePruned(number, bytes(32) if row is None else bytes(row[0]))


def keep_states_from(db: Database, number: int) -> None:
    """Declare the states before this block pruned; the caller holds the chain's lock."""
    _keep(db, "first_state", number)


def keep_calls_from(db: Database, number: int) -> None:
    """Declare the calls of blocks before this one pruned; the caller holds the chain's lock."""
    _keep(db, "first_call", number)


def keep_calls_above(db: Database, number: int) -> None:
    """Keep the calls of all blocks above a height from now on: the blocks there are replaced, and their calls are not pruned."""
    db.execute(_CALLS_ABOVE, (number + 1, number + 1))


def delete_changes(db: Database, most: int) -> int:
    """Delete some of the changes that only pruned states need; return the number of rows.

    The state at a height results from undoing the changes after it, so those of the first kept block are not needed.
    """
    return _delete(db, _STATE_TABLES, models.row_id(first_state(db) + 1), most)


def delete_calls(db: Database, most: int) -> int:
    """Delete some of the calls of blocks before the first block with calls; return the number of rows."""
    return _delete(db, _CALL_TABLES, models.row_id(first_call(db)), most)


def _keep(db: Database, column: str, number: int) -> None:
    row, _ = db.objects(models.KeptHistory).get_or_create(id=1)
    if number > getattr(row, column):
        setattr(row, column, number)
        row.save(using=db.alias, update_fields=[column])


def _delete(db: Database, tables: tuple[str, ...], before: int, most: int) -> int:
    deleted = 0
    for table in tables:
        if deleted >= most:
            break
        last = db.row(_LAST_OF_PART.format(table=table), [before, most - deleted])
        if last is None or last[0] is None:
            continue
        with db.connection.cursor() as cursor:
            cursor.execute(f"DELETE FROM {table} WHERE id <= %s", [last[0]])  # noqa: S608  # names are above
            deleted += cursor.rowcount
    return deleted
