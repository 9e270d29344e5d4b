"""Copies of a SQLite database: a file for each, made by SQLite's backup API.

A copy is a separate database with one additional table, its description, and the tables with rows of
further databases, whose names begin with the end of the alias. The file gets its final name when it is complete and on disk, so
a killed process leaves at most a partial file, which the next save deletes.

SQLite commits in one file at a time, the node's own first. While the rows of several databases are committed, a file has the
caller's mark (`unfinished`), by which it can restore the others later.
"""

import fcntl
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

from django.db import DatabaseError

from chaindb.database import Database
from chaindb.snapshots.port import (
    FurtherDatabase,
    SnapshotReason,
    SnapshotRefused,
    StoredCopy,
    TableAddress,
    UnreadableSnapshot,
    fill,
    ignore,
    is_name,
    name_in_copy,
    no_further,
    verified,
)
from primitives.whole_files import to_disk, write_whole

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
        self,
        name: str,
        tables: Sequence[str],
        describe: Callable[[], str],
        *,
        replace: bool,
        further: Sequence[Database] = (),
        look: Callable[[str, Database], object] = ignore,
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
                with ExitStack() as moments:
                    for other in further:
                        moments.enter_context(other.consistent_read())
                        other.row("SELECT 1 FROM sqlite_master LIMIT 1")  # the moment begins here
                        look(other.alias, other)
                    moments.enter_context(self._db.consistent_read())
                    _copy(self._db, part, describe())
                    for other in further:
                        _add(other, part, tables)
                to_disk(part)
                part.replace(path)
                to_disk(self._directory)
            except BaseException:
                for left in self._directory.glob(f"{part.name}*"):
                    left.unlink()
                raise

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
        """Replace the rows of the database by those of a copy; see `port.Copies`.

        The file is attached and read. One transaction of the live database writes the rows, as for a
        block. The backup API would also overwrite the tables that are not restored. The transactions of all databases
        are open until all rows are written; then they are committed, that of the node's database first.
        """
        path = self._existing(name)
        others: Sequence[FurtherDatabase] = ()
        with self._alone():
            with _damage_reported(name), ExitStack() as transactions:
                own_transaction = transactions.enter_context(ExitStack())
                own_transaction.enter_context(_writing(self._db, path))
                also()
                others = further()
                for other in others:
                    transactions.enter_context(_writing(other.db, path))
                for table in tables:
                    own, copy = (_address(self._db, part, table) for part in ("main", "snapshot"))
                    fill(self._db, name, table, own, copy, columns=None)
                for other in others:
                    also_in(other.db)
                    _fill_further(other, name, tables)
                if others:
                    write_whole(self._unfinished, mark().encode())
                own_transaction.close()
                self._db.flush()
            for other in others:
                other.db.flush()
            self._unfinished.unlink(missing_ok=True)

    def unfinished(self) -> str | None:
        """Return the mark of an unfinished restoration, which may not have committed all databases; None without one."""
        try:
            return self._unfinished.read_text(errors="replace")
        except FileNotFoundError:
            return None

    def finish(
        self,
        name: str,
        tables: Sequence[str],
        others: Sequence[FurtherDatabase],
        also_in: Callable[[Database], object],
    ) -> None:
        """Restore the further databases that an interrupted restoration has not committed, and forget its mark.

        Args:
            name: Name of the copy.
            tables: Tables to restore.
            others: The databases.
            also_in: As for `restore`.

        Raises:
            SnapshotRefused: As for `restore`.
        """
        with self._alone():
            for other in others:
                path = self._existing(name)
                with _damage_reported(name), _writing(other.db, path):
                    also_in(other.db)
                    _fill_further(other, name, tables)
                other.db.flush()
            self._unfinished.unlink(missing_ok=True)

    def delete(self, name: str) -> None:
        """Delete a copy; see `port.Copies`."""
        with self._alone():
            try:
                self._path(name).unlink()
            except FileNotFoundError:
                raise SnapshotRefused(SnapshotReason.NO_SUCH_SNAPSHOT, name=name) from None

    @property
    def _unfinished(self) -> Path:
        return self._directory / "restoring"

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


@contextmanager
def _writing(db: Database, path: Path) -> Iterator[None]:
    """Let the body write to a database in one transaction, with a copy attached."""
    connection = db.connection
    with _attached(db, path):
        # Tables are replaced one by one; foreign keys between them hold only at the end.
        connection.disable_constraint_checking()
        try:
            with db.atomic(durable=True):
                yield
        finally:
            connection.enable_constraint_checking()


@contextmanager
def _damage_reported(name: str) -> Iterator[None]:
    try:
        yield
    except DatabaseError as error:
        if _is_damaged(error):
            raise UnreadableSnapshot(
                SnapshotReason.UNREADABLE_SNAPSHOT, name=name, cause=error
            ) from error
        raise


@contextmanager
def _attached(db: Database, path: Path) -> Iterator[None]:
    assert not db.connection.in_atomic_block, "a copy is restored outside of transactions"
    try:
        db.execute("ATTACH DATABASE %s AS snapshot", [_read_only(path)])
    except DatabaseError as error:
        raise UnreadableSnapshot(
            SnapshotReason.UNREADABLE_SNAPSHOT, name=path.stem, cause=error
        ) from error
    try:
        yield
    finally:
        _detach(db)


def _detach(db: Database) -> None:
    db.execute("DETACH DATABASE snapshot")


def _address(db: Database, schema: str, table: str) -> TableAddress:
    rows = db.rows(f'PRAGMA {schema}.table_info("{table}")')
    return TableAddress(f'{schema}."{table}"', [row[1] for row in rows])


def _fill_further(other: FurtherDatabase, name: str, tables: Sequence[str]) -> None:
    """Replace the rows of a further database, which has the copy attached. A table that the copy lacks has no rows."""
    db = other.db
    for table in tables:
        own = _address(db, "main", table)
        copy = _address(db, "snapshot", name_in_copy(db.alias, table))
        if other.is_copied and copy.columns:
            columns = ", ".join(f'"{column}"' for column in own.columns)
            fill(db, name, table, own, copy, columns=columns)
        else:
            db.execute(f"DELETE FROM {own.sql}")  # noqa: S608  # names come from the models


def _copy(db: Database, part: Path, description: str) -> None:
    """Copy a database, as its open transaction sees it, into a file that needs no other file."""
    _copy_file(db, part)
    with closing(sqlite3.connect(part, isolation_level=None)) as copy:
        copy.execute("PRAGMA synchronous = OFF")  # the complete file is synced once
        copy.execute("CREATE TABLE description (text TEXT NOT NULL)")
        copy.execute("INSERT INTO description (text) VALUES (?)", [description])


def _add(db: Database, part: Path, tables: Sequence[str]) -> None:
    """Add the tables with rows of a further database to a copy."""
    own = part.with_name(f"{part.name}-{db.alias}")
    _copy_file(db, own)
    with closing(sqlite3.connect(part, isolation_level=None)) as copy:
        copy.execute("PRAGMA synchronous = OFF")
        copy.execute("ATTACH DATABASE ? AS further", [f"{own}"])
        copy.execute("BEGIN")
        for table in tables:
            if copy.execute(f'SELECT 1 FROM further."{table}" LIMIT 1').fetchone():  # noqa: S608  # as above
                into = name_in_copy(db.alias, table)
                copy.execute(f'CREATE TABLE "{into}" AS SELECT * FROM further."{table}"')  # noqa: S608  # as above
        copy.execute("COMMIT")
    own.unlink()


def _copy_file(db: Database, part: Path) -> None:
    connection = db.connection
    connection.ensure_connection()
    with closing(sqlite3.connect(part, isolation_level=None)) as copy:
        copy.execute("PRAGMA synchronous = OFF")
        connection.connection.backup(copy, pages=_PAGES)
        copy.execute("PRAGMA journal_mode = DELETE")


def _read_only(path: Path) -> str:
    """Return the URI by which SQLite opens a file read-only."""
    return f"file:{quote(str(path.resolve()))}?mode=ro"


def _is_damaged(error: DatabaseError) -> bool:
    code = getattr(error.__cause__, "sqlite_errorcode", None)
    return code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
