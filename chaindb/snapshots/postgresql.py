"""Copies of a PostgreSQL database: a schema for each, with the tables' rows and no indexes.

One transaction makes a copy, so there are no partial copies. A schema holds only the requested
tables, so a copy never contains other copies. Further databases are schemas of the same database, named by their
aliases, so the same transaction reads and writes them. Only their tables that have been written are copied and locked:
many chains with all their tables would need more locks than PostgreSQL has.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import psycopg
from django.db import DatabaseError, ProgrammingError

from chaindb.database import Database
from chaindb.locks import Lock
from chaindb.rows import raise_sequences
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

_PREFIX: Final = "snapshot_"
_LOCKS: Final = (
    Lock.PCHAIN,
    Lock.PCHAIN_MEMPOOL,
    Lock.CCHAIN,
    Lock.CCHAIN_POOL,
    Lock.KEYSTORE,
    Lock.INIT,
)
"""All locks that a transaction on restored tables may hold, each chain's before its pool's as elsewhere.

The locks of block producers belong to their sessions. Producers continue, and notice the rewind."""

_NAMES: Final = "SELECT nspname FROM pg_namespace WHERE starts_with(nspname::text, 'snapshot_')"
_SIZE: Final = """
SELECT COALESCE(sum(pg_total_relation_size(c.oid)), 0)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relkind = 'r'
"""
_COLUMNS: Final = """
SELECT a.attname FROM pg_attribute a
JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attname
"""
_WRITTEN: Final = """
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relkind = 'r' AND pg_relation_size(c.oid) > 0
"""
"""The tables that have or had rows; asking for their sizes keeps no locks."""
_TABLES: Final = """
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relkind = 'r'
"""


class PostgresqlCopies:
    """The copies of a PostgreSQL database; implements `port.Copies`.

    Args:
        db: The database.
        lock_first: Tables in which other processes lock a row before they write to any other table,
            without a lock of the chains.
    """

    def __init__(self, db: Database, lock_first: Sequence[str] = ()) -> None:
        self._db = db
        self._lock_first = lock_first

    def names(self) -> list[str]:
        """Return the names of all copies, sorted."""
        names = (str(row[0]).removeprefix(_PREFIX) for row in self._db.rows(_NAMES))
        return sorted(filter(is_name, names))

    def read(self, name: str) -> StoredCopy:
        """Return name, description and size of a copy; see `port.Copies`."""
        self._verify_there(name)
        try:
            row = self._db.row(f"SELECT text FROM {self._table(name, 'description')}")  # noqa: S608  # verified
        except ProgrammingError as error:
            raise UnreadableSnapshot(
                SnapshotReason.UNREADABLE_SNAPSHOT, name=name, cause=error
            ) from error
        if row is None:
            raise UnreadableSnapshot(
                SnapshotReason.UNREADABLE_SNAPSHOT, name=name, cause="it has no description"
            )
        size = self._db.row(_SIZE, [_schema(name)])
        return StoredCopy(name, str(row[0]), int(size[0]) if size else 0)

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
        """Copy tables into a new schema; see `port.Copies`.

        The transaction uses repeatable read, so all tables are as of its first statement, and it blocks
        no other transaction.
        """
        schema = self._quote(_schema(name))
        try:
            with self._db.atomic(durable=True):
                self._db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                self._db.execute("SET LOCAL statement_timeout = 0")
                for other in further:
                    with self._within(other.alias):
                        look(other.alias, self._db)
                description = describe()
                if replace:
                    self._db.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
                self._db.execute(f"CREATE SCHEMA {schema}")
                for table in tables:
                    own = self._quote(table)
                    self._db.execute(f"CREATE TABLE {self._table(name, table)} AS TABLE {own}")
                for other in further:
                    for table in self._written(other.alias, tables):
                        into = self._table(name, name_in_copy(other.alias, table))
                        own = f"{self._quote(other.alias)}.{self._quote(table)}"
                        self._db.execute(f"CREATE TABLE {into} AS TABLE {own}")
                target = self._table(name, "description")
                self._db.execute(f"CREATE TABLE {target} AS SELECT %s::text AS text", [description])
        except DatabaseError as error:
            if isinstance(error.__cause__, psycopg.errors.InsufficientPrivilege):
                raise SnapshotRefused(SnapshotReason.NOT_PERMITTED, cause=error) from error
            if isinstance(
                error.__cause__,
                psycopg.errors.DuplicateSchema | psycopg.errors.UniqueViolation,
            ):
                raise SnapshotRefused(SnapshotReason.NAME_TAKEN, name=name) from error
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

        One transaction restores all schemas, so nothing needs a mark. Rows are deleted, not truncated: TRUNCATE needs a lock against readers, with which readers of two
        tables could deadlock. Foreign keys are checked at the end, when all rows are there.
        """
        with self._db.atomic(durable=True):
            self._db.execute("SET LOCAL statement_timeout = 0")
            self._lock(tables)
            self._verify_there(name)
            also()
            others = further()
            row = self._db.row("SELECT current_schema()")
            assert row is not None
            for table in tables:
                own, copy = self._address(str(row[0]), table), self._address(_schema(name), table)
                columns = ", ".join(map(self._quote, own.columns))
                fill(self._db, name, table, own, copy, columns=columns)
                raise_sequences(self._db, table)
            for other in others:
                with self._within(other.db.alias):
                    self._restore_within(other, name, tables, also_in)

    def _restore_within(
        self,
        other: FurtherDatabase,
        name: str,
        tables: Sequence[str],
        also_in: Callable[[Database], object],
    ) -> None:
        """Replace the rows of a schema, which is the current one."""
        schema = other.db.alias
        for lock in _LOCKS:
            self._db.execute("SELECT pg_advisory_xact_lock(%s)", [other.db.key_of(lock)])
        there = {str(row[0]) for row in self._db.rows(_TABLES, [_schema(name)])}
        copied = {table for table in tables if name_in_copy(schema, table) in there}
        written = sorted(copied | set(self._written(schema, tables)))
        self._lock_tables(written)
        also_in(self._db)
        for table in written:
            own = self._address(schema, table)
            if not (other.is_copied and table in copied):
                self._db.execute(f"DELETE FROM {own.sql}")  # noqa: S608  # names come from the models
                continue
            copy = self._address(_schema(name), name_in_copy(schema, table))
            columns = ", ".join(map(self._quote, own.columns))
            fill(self._db, name, table, own, copy, columns=columns)
            raise_sequences(self._db, table)

    @contextmanager
    def _within(self, schema: str) -> Iterator[None]:
        """Let names of tables in the body mean those of a schema; a transaction that fails has no such path either."""
        row = self._db.row("SELECT current_setting('search_path')")
        assert row is not None
        set_path = "SELECT set_config('search_path', %s, true)"
        self._db.rows(set_path, [self._quote(schema)])
        yield
        self._db.rows(set_path, [row[0]])

    def _written(self, schema: str, tables: Sequence[str]) -> list[str]:
        """Return those of the tables that have or had rows in a schema."""
        found = {str(row[0]) for row in self._db.rows(_WRITTEN, [schema])}
        return [table for table in tables if table in found]

    def delete(self, name: str) -> None:
        """Delete a copy; see `port.Copies`."""
        with self._db.atomic(durable=True):
            self._verify_there(name)
            self._db.execute(f"DROP SCHEMA {self._quote(_schema(name))} CASCADE")

    def _lock(self, tables: Sequence[str]) -> None:
        """Lock out all writers. Their first locks are taken first, so that none is half finished."""
        for lock in _LOCKS:
            self._db.acquire(lock)
        self._lock_tables(tables)

    def _lock_tables(self, tables: Sequence[str]) -> None:
        if self._lock_first:  # this mode, unlike the other one, waits for row locks
            self._db.execute(f"LOCK TABLE {self._listed(self._lock_first)} IN EXCLUSIVE MODE")
        if tables:
            self._db.execute(f"LOCK TABLE {self._listed(tables)} IN SHARE ROW EXCLUSIVE MODE")

    def _listed(self, tables: Sequence[str]) -> str:
        return ", ".join(map(self._quote, tables))

    def _verify_there(self, name: str) -> None:
        if verified(name) not in self.names():
            raise SnapshotRefused(SnapshotReason.NO_SUCH_SNAPSHOT, name=name)

    def _table(self, name: str, table: str) -> str:
        return f"{self._quote(_schema(name))}.{self._quote(table)}"

    def _address(self, schema: str, table: str) -> TableAddress:
        columns = [row[0] for row in self._db.rows(_COLUMNS, [schema, table])]
        return TableAddress(f"{self._quote(schema)}.{self._quote(table)}", columns)

    def _quote(self, name: str) -> str:
        return str(self._db.connection.ops.quote_name(name))


def _schema(name: str) -> str:
    return f"{_PREFIX}{verified(name)}"
