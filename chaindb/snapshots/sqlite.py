"""Copies of a SQLite database: a file for each, made by SQLite's backup API.

A copy is a separate database with one additional table, its description. The file gets its final name
when it is complete and on disk, so a killed process leaves at most a partial file, which the next
save deletes.
"""

import fcntl
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

from django.db import DatabaseError
from django.db.backends.base.base import BaseDatabaseWrapper

from chaindb.database import Database
from chaindb.snapshots.port import (
    SnapshotReason,
    SnapshotRefused,
    StoredCopy,
    TableAddress,
    UnreadableSnapshot,
    fill,
    is_name,
    verified,
)
from primitives.whole_files import to_disk

_ENDING: Final = ".sqlite3"
_PART: Final = ".partial"
_PAGES: Final = 2048
"""Number of 4 KiB pages that are copied in one step, which cannot be interrupted."""


class SqliteCopies:
    """The copies of a SQLite database; implements `port.Copies`.

    Args:
        db: The database.
        directory: Directory of the copies; created with the first one.
    """

    def __init__(self, db: Database, directory: Path) -> None:
        self._db = db
        self._directory = directory

    def names(self) -> list[str]:
        """Return the names of all copies, sorted."""
        names = (path.name.removesuffix(_ENDING) for path in self._directory.glob(f"*{_ENDING}"))
        return sorted(filter(is_name, names))

    def read(self, name: str) -> StoredCopy:
        """Return name, description and size of a copy; see `port.Copies`."""
        path = self._existing(name)
        try:
            with closing(sqlite3.connect(_read_only(path), uri=True)) as copy:
                (description,) = copy.execute("SELECT text FROM description").fetchone()
        except (sqlite3.DatabaseError, TypeError) as error:  # TypeError: the row is missing
            raise UnreadableSnapshot(
                SnapshotReason.UNREADABLE_SNAPSHOT, name=name, cause=error
            ) from error
        return StoredCopy(name, str(description), path.stat().st_size)

    def save(
        self, name: str, tables: Sequence[str], describe: Callable[[], str], *, replace: bool
    ) -> None:
        """Copy the whole database, including other tables; see `port.Copies`.

        The copy is as of the start of the read transaction. That does not block writers: they append to
        the write-ahead log. Without the transaction SQLite would restart the copy after each commit.
        """
        path = self._path(name)
        with self._alone():
            if path.exists() and not replace:
                raise SnapshotRefused(SnapshotReason.NAME_TAKEN, name=name)
            part = self._directory / f"{name}{_PART}"
            try:
                with self._db.consistent_read():
                    description = describe()
                    connection = self._db.connection
                    connection.ensure_connection()
                    _copy(connection.connection, part, description)
                to_disk(part)
                part.replace(path)
                to_disk(self._directory)
            except BaseException:
                part.unlink(missing_ok=True)
                raise

    def restore(self, name: str, tables: Sequence[str], also: Callable[[], object]) -> None:
        """Replace the rows of the database by those of a copy; see `port.Copies`.

        The file is attached and read. One transaction of the live database writes the rows, as for a
        block. The backup API would also overwrite the tables that are not restored.
        """
        path = self._existing(name)
        connection = self._db.connection
        with self._alone(), self._attached(connection, path):
            # Tables are replaced one by one; foreign keys between them hold only at the end.
            connection.disable_constraint_checking()
            try:
                with self._db.atomic(durable=True):
                    also()
                    for table in tables:
                        own, copy = (
                            _address(self._db, part, table) for part in ("main", "snapshot")
                        )
                        fill(self._db, name, table, own, copy, columns=None)
            except DatabaseError as error:
                if _is_damaged(error):
                    raise UnreadableSnapshot(
                        SnapshotReason.UNREADABLE_SNAPSHOT, name=name, cause=error
                    ) from error
                raise
            finally:
                connection.enable_constraint_checking()
        self._db.flush()

    def delete(self, name: str) -> None:
        """Delete a copy; see `port.Copies`."""
        with self._alone():
            try:
                self._path(name).unlink()
            except FileNotFoundError:
                raise SnapshotRefused(SnapshotReason.NO_SUCH_SNAPSHOT, name=name) from None

    @contextmanager
    def _attached(self, connection: BaseDatabaseWrapper, path: Path) -> Iterator[None]:
        assert not connection.in_atomic_block, "a copy is restored outside of transactions"
        try:
            self._db.execute("ATTACH DATABASE %s AS snapshot", [_read_only(path)])
        except DatabaseError as error:
            raise UnreadableSnapshot(
                SnapshotReason.UNREADABLE_SNAPSHOT, name=path.stem, cause=error
            ) from error
        try:
            yield
        finally:
            self._db.execute("DETACH DATABASE snapshot")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes from saving, restoring and deleting. Delete partial files of killed ones."""
        self._directory.mkdir(mode=0o700, exist_ok=True)
        with (self._directory / "lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            for part in self._directory.glob(f"*{_PART}*"):
                part.unlink()
            yield

    def _existing(self, name: str) -> Path:
        path = self._path(name)
        if not path.exists():
            raise SnapshotRefused(SnapshotReason.NO_SUCH_SNAPSHOT, name=name)
        return path

    def _path(self, name: str) -> Path:
        return self._directory / f"{verified(name)}{_ENDING}"


def _address(db: Database, schema: str, table: str) -> TableAddress:
    rows = db.rows(f'PRAGMA {schema}.table_info("{table}")')
    return TableAddress(f'{schema}."{table}"', [row[1] for row in rows])


def _copy(source: sqlite3.Connection, part: Path, description: str) -> None:
    """Copy a database, as its open transaction sees it, into a file that needs no other file."""
    with closing(sqlite3.connect(part, isolation_level=None)) as copy:
        copy.execute("PRAGMA synchronous = OFF")  # the complete file is synced once
        source.backup(copy, pages=_PAGES)
        copy.execute("PRAGMA journal_mode = DELETE")
        copy.execute("CREATE TABLE description (text TEXT NOT NULL)")
        copy.execute("INSERT INTO description (text) VALUES (?)", [description])


def _read_only(path: Path) -> str:
    """Return the URI by which SQLite opens a file read-only."""
    return f"file:{quote(str(path.resolve()))}?mode=ro"


def _is_damaged(error: DatabaseError) -> bool:
    code = getattr(error.__cause__, "sqlite_errorcode", None)
    return code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
