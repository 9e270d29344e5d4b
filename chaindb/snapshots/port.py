"""The interface for copies of a database, and the code that PostgreSQL and SQLite share."""

import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final, NamedTuple, Protocol

from chaindb.database import Database
from primitives.reasons import ErrorWithReason


class SnapshotReason(StrEnum):
    """Why a snapshot is not saved, restored or deleted."""

    BAD_NAME = "{name!r} is not a valid snapshot name: use 1 to 40 of a-z, 0-9, - and _"
    NAME_TAKEN = "there is a snapshot {name} already: --replace overwrites it"
    NO_SUCH_SNAPSHOT = "there is no snapshot {name}"
    SNAPSHOT_TABLES_DIFFER = (
        "the snapshot {name} has no table {table} with the columns that this database has"
    )
    # The data stored under the name is not a snapshot, or is damaged.
    UNREADABLE_SNAPSHOT = "the snapshot {name} cannot be read: {cause}"
    # The database user may not create schemas.
    NOT_PERMITTED = (
        "the node's user of PostgreSQL may not create schemas, in which snapshots are stored "
        "(GRANT CREATE ON DATABASE … TO …): {cause}"
    )


class SnapshotRefused(ErrorWithReason):
    """A snapshot is not saved, restored or deleted."""


class UnreadableSnapshot(SnapshotRefused):
    """The data stored under the name is not a snapshot, or is damaged."""


_NAME: Final = re.compile(r"[a-z0-9_-]{1,40}")


class StoredCopy(NamedTuple):
    """A stored copy."""

    name: str
    description: str
    """Description that was stored with it."""
    size: int
    """Size in bytes."""


class FurtherDatabase(NamedTuple):
    """Another database that is restored together with the node's."""

    db: Database
    is_copied: bool
    """Whether the copy has its rows; otherwise it gets none."""


def ignore(*_: object) -> None:
    """Do nothing."""


def no_further() -> Sequence[FurtherDatabase]:
    """Return no database."""
    return ()


def name_in_copy(alias: str, table: str) -> str:
    """Return the name that a table of a further database has in a copy.

    PostgreSQL's names have at most 63 characters, so only the last 24 of the alias are in it. They must differ.
    """
    return f"{alias[-24:]}.{table}"


class Copies(Protocol):
    """The named copies of one database. Methods block: call them in threads, outside transactions."""

    def names(self) -> list[str]:
        """Return the names of all copies, sorted."""

    def read(self, name: str) -> StoredCopy:
        """Return name, description and size of a copy.

        Raises:
            SnapshotRefused: No copy of the name exists.
            UnreadableSnapshot: The stored data is not a copy.
        """

    def save(
        self,
        name: str,
        tables: Sequence[str],
        describe: Callable[[], str],
        *,
        replace: bool,
        further: Sequence[Database] = (),
        look: Callable[[str, Database], object] = ignore,
    ) -> None:
        """Copy one state of the database, completely or not at all, while others write to it.

        Args:
            name: Name of the copy.
            tables: Tables that the copy must contain.
            describe: Is called once, while the database shows that state; its result is stored with the
                copy.
            replace: Whether to replace a copy of the same name.
            further: Other databases with the same tables, of which the copy contains one state each. These states are
                no later than that of the database.
            look: Is called with the alias of each of them, and with a database that shows the copied state, before
                `describe`.

        Raises:
            SnapshotRefused: A copy of the name exists, or the database user may not store copies.
        """

    def restore(
        self,
        name: str,
        tables: Sequence[str],
        also: Callable[[], object],
        *,
        further: Callable[[], Sequence[FurtherDatabase]] = no_further,
        also_in: Callable[[Database], object] = ignore,
        mark: Callable[[], str] = str,
    ) -> None:
        """Replace the rows of the database by those of a copy, in one transaction.

        Readers see all old rows or all new rows; writers wait.

        Args:
            name: Name of the copy.
            tables: Tables to restore.
            also: Is called in the transaction before the first row changes. An exception undoes everything.
            further: Is called after `also`, and returns the further databases to restore. They have their tables.
            also_in: Is called with each of them in its transaction, before its rows change.
            mark: Returns the data with which a restoration continues after a kill between the commits of several
                databases; called before the first commit, if the databases cannot be committed together.

        Raises:
            SnapshotRefused: No copy of the name exists.
            SnapshotRefused: The copy lacks one of the tables, or one of their columns.
            UnreadableSnapshot: The copy is damaged.
        """

    def delete(self, name: str) -> None:
        """Delete a copy.

        Raises:
            SnapshotRefused: No copy of the name exists.
        """


def is_name(text: str) -> bool:
    """Return whether a text is valid as the name of a copy."""
    return _NAME.fullmatch(text) is not None


def verified(name: str) -> str:
    """Return a name if it is valid for a copy.

    Raises:
        SnapshotRefused: The name is not valid.
    """
    if not is_name(name):
        raise SnapshotRefused(SnapshotReason.BAD_NAME, name=name[:80])
    return name


class TableAddress(NamedTuple):
    """A table of the database, or of a copy."""

    sql: str
    """Its name in SQL, with its schema."""
    columns: Sequence[str]
    """The names of its columns; none if there is no such table."""


def fill(
    db: Database,
    name: str,
    table: str,
    own: TableAddress,
    copy: TableAddress,
    *,
    columns: str | None,
) -> None:
    """Replace the rows of a table in the database by those of a copy.

    Args:
        db: The database.
        name: Name of the copy.
        table: Name of the table.
        own: The table in the database.
        copy: The table in the copy.
        columns: The columns in SQL; None: both tables have the same columns in the same order. SQLite has fast paths
            for statements without columns: it frees pages without visiting the rows, and copies rows and index
            entries unchanged.

    Raises:
        SnapshotRefused: The table has other columns in the copy.
    """
    same = own.columns == copy.columns if columns is None else set(own.columns) == {*copy.columns}
    if not own.columns or not same:
        raise SnapshotRefused(SnapshotReason.SNAPSHOT_TABLES_DIFFER, name=name, table=table)
    into = own.sql if columns is None else f"{own.sql} ({columns})"
    db.execute(f"DELETE FROM {own.sql}")  # noqa: S608  # names come from the models
    db.execute(f"INSERT INTO {into} SELECT {columns or '*'} FROM {copy.sql}")  # noqa: S608  # as above
