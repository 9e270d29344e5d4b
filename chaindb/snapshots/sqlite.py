"""Copies of a SQLite database: a file for each, made by SQLite's backup interface.

A copy is a database of its own with one table more, its description. It gets its name when it is whole and
on the disk, so a kill leaves a nameless part at most, which the next one who saves deletes.
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
from chaindb.snapshots.errors import NameTaken, NoSuchSnapshot, OtherTables, UnreadableSnapshot
from chaindb.snapshots.port import Stored, is_name, verified
from primitives.whole_files import to_disk

_ENDING: Final = ".sqlite3"
_PART: Final = ".partial"
_PAGES: Final = 2048
"""So many pages of 4 KiB are copied in one step, which nothing can interrupt."""


class SqliteCopies:
    """The copies of a SQLite database; see `port.Copies`, which this is.

    Args:
        db: The database.
        directory: Where they are; made when the first one is.
    """

    def __init__(self, db: Database, directory: Path) -> None:
        self._db = db
        self._directory = directory

    def names(self) -> list[str]:
        """Return the names of all that are there, in order."""
        found = (path.name.removesuffix(_ENDING) for path in self._directory.glob(f"*{_ENDING}"))
        return sorted(filter(is_name, found))

    def read(self, name: str) -> Stored:
        """Return what is known of a copy; see `port.Copies`."""
        path = self._existing(name)
        try:
            with closing(sqlite3.connect(_read_only(path), uri=True)) as copy:
                (description,) = copy.execute("SELECT text FROM description").fetchone()
        except (sqlite3.DatabaseError, TypeError) as error:  # TypeError: there is no row
            raise UnreadableSnapshot(name, error) from error
        return Stored(name, str(description), path.stat().st_size)

    def save(
        self, name: str, tables: Sequence[str], describe: Callable[[], str], *, replace: bool
    ) -> None:
        """Copy all of the database, other tables too; see `port.Copies`.

        The copy is as of the moment at which the reading transaction begins, which keeps writers from nothing:
        they append to the write-ahead log. Without that transaction SQLite would begin the copy anew after
        each commit.
        """
        path = self._path(name)
        with self._alone():
            if path.exists() and not replace:
                raise NameTaken(name)
            part = self._directory / f"{name}{_PART}"
            try:
                with self._db.as_of_one_moment():
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
        """Put the rows of a copy in the place of the database's; see `port.Copies`.

        The file is attached and read; rows are written by one transaction of the live database, as those of a
        block are. The backup interface would overwrite the tables, too, that stay as they are.
        """
        path = self._existing(name)
        connection = self._db.connection
        with self._alone(), self._attached(connection, path):
            # Tables are emptied and filled one after the other; only whole they hold together.
            connection.disable_constraint_checking()
            try:
                with self._db.atomic(durable=True):
                    also()
                    for table in tables:
                        fill(self._db, name, table)
            except DatabaseError as error:
                if _is_damaged(error):
                    raise UnreadableSnapshot(name, error) from error
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
                raise NoSuchSnapshot(name) from None

    @contextmanager
    def _attached(self, connection: BaseDatabaseWrapper, path: Path) -> Iterator[None]:
        assert not connection.in_atomic_block, "a copy is restored outside of transactions"
        try:
            self._db.execute("ATTACH DATABASE %s AS snapshot", [_read_only(path)])
        except DatabaseError as error:
            raise UnreadableSnapshot(path.stem, error) from error
        try:
            yield
        finally:
            self._db.execute("DETACH DATABASE snapshot")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes from saving, restoring and deleting; what a killed one left of a copy goes."""
        self._directory.mkdir(mode=0o700, exist_ok=True)
        with (self._directory / "lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            for part in self._directory.glob(f"*{_PART}*"):
                part.unlink()
            yield

    def _existing(self, name: str) -> Path:
        path = self._path(name)
        if not path.exists():
            raise NoSuchSnapshot(name)
        return path

    def _path(self, name: str) -> Path:
        return self._directory / f"{verified(name)}{_ENDING}"


def fill(db: Database, name: str, table: str) -> None:
    """Put the rows of a table of the attached copy in the place of the database's.

    Raises:
        OtherTables: It has other columns there.
    """
    columns = _columns(db, "main", table)
    if not columns or columns != _columns(db, "snapshot", table):
        raise OtherTables(name, table)
    # Both statements have ways of their own in SQLite when they are as plain as this: pages are let go
    # of without a look at rows, and rows and indexes are copied as they are.
    db.execute(f'DELETE FROM main."{table}"')  # noqa: S608  # names are the models'
    db.execute(f'INSERT INTO main."{table}" SELECT * FROM snapshot."{table}"')  # noqa: S608  # as above


def _columns(db: Database, schema: str, table: str) -> list[str]:
    return [row[1] for row in db.rows(f'PRAGMA {schema}.table_info("{table}")')]


def _copy(source: sqlite3.Connection, part: Path, description: str) -> None:
    """Copy a database with its open transaction's view into a file that is whole without any other."""
    with closing(sqlite3.connect(part, isolation_level=None)) as copy:
        copy.execute("PRAGMA synchronous = OFF")  # it is brought to the disk once, when it is whole
        source.backup(copy, pages=_PAGES)
        copy.execute("PRAGMA journal_mode = DELETE")
        copy.execute("CREATE TABLE description (text TEXT NOT NULL)")
        copy.execute("INSERT INTO description (text) VALUES (?)", [description])


def _read_only(path: Path) -> str:
    """Return the address by which SQLite opens a file that it must not write to."""
    return f"file:{quote(str(path.resolve()))}?mode=ro"


def _is_damaged(error: DatabaseError) -> bool:
    code = getattr(error.__cause__, "sqlite_errorcode", None)
    return code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
