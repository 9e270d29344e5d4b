"""One database of the node, under its Django alias: plain SQL, bulk writes, transactions and locks.

A chain holds the one that its rows are in and passes it on, so nothing here knows which chain it is.
Rules and shapes of rows are their owners'; what fields look like is `fields`.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar
from zlib import crc32

from django.db import DEFAULT_DB_ALIAS, OperationalError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Field, Model, QuerySet
from typing_extensions import override

from chaindb.fair_lock import FairLock, WaitedTooLong
from chaindb.fields import UnsignedField, for_database
from chaindb.locks import Lock, NotInTransaction

Row = Sequence[Any]
Rows = list[tuple[Any, ...]]
Columns = tuple[str, ...]
M = TypeVar("M", bound=Model)

_SQLITE_TIMEOUT = 5.0
"""Seconds for which SQLite waits for its lock unless it is told."""

_MOST_KEYS = 500
"""Keys in one statement; databases have a limit, and plans for more are no better."""


class Database:
    """A database by its alias; threads share the object, Django gives each its own connection.

    Plain SQL is for the few questions that every block and every submission asks: building a query of
    the ORM costs several times what the database takes to answer it by key. Bulk writes are for what
    a block commits: model instances cost ten times what the database takes for a row.
    """

    def __init__(self, alias: str = DEFAULT_DB_ALIAS) -> None:
        self.alias = alias
        # Schemas of one PostgreSQL database share its advisory locks; each alias has numbers of its own.
        self._lock_space = 0 if alias == DEFAULT_DB_ALIAS else crc32(alias.encode()) >> 1 << 32
        self._writing = FairLock()
        self._statements: dict[tuple[Any, ...], str] = {}
        self._wide: dict[tuple[type[Model], Columns], dict[int, int]] = {}

    @override
    def __repr__(self) -> str:
        return f"Database({self.alias!r})"

    @property
    def connection(self) -> BaseDatabaseWrapper:
        """This thread's connection."""
        return connections[self.alias]

    def has_table(self, name: str) -> bool:
        """Return whether a table is there. Where SQLite's file is missing none is made for the question."""
        connection = self.connection
        if connection.vendor == "sqlite" and not os.path.exists(connection.settings_dict["NAME"]):
            return False
        with connection.cursor() as cursor:
            return name in connection.introspection.table_names(cursor)

    def objects(self, model: type[M]) -> QuerySet[M]:
        """Return all rows of a model in this database, as a queryset."""
        return model._default_manager.using(self.alias)  # noqa: SLF001  # Django documents it

    @contextmanager
    def atomic(self, *, durable: bool = False) -> Iterator[None]:
        """Run the body in a transaction; see `django.db.transaction.atomic`.

        On SQLite those of this process begin in the order in which they were asked for: each holds the write
        lock from its beginning, and SQLite hands that to nobody in particular.

        Raises:
            OperationalError: On SQLite: others have held the lock for as long as SQLite would have waited.
        """
        with self._in_turn(), transaction.atomic(using=self.alias, durable=durable):
            yield

    @contextmanager
    def as_of_one_moment(self) -> Iterator[None]:
        """Have this thread's connection see the database as of one moment; nobody who writes waits for it.

        It only reads, for as long as it likes. SQLite's write-ahead log grows meanwhile, by what others write.
        """
        connection = self.connection
        assert not connection.in_atomic_block, "a moment begins outside of transactions"
        if connection.vendor == "postgresql":
            with self.atomic(durable=True):
                self.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                self.execute("SET LOCAL statement_timeout = 0")
                self.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
                yield
            return
        self.execute("BEGIN DEFERRED")
        try:
            yield
        finally:
            self.execute("ROLLBACK")

    @contextmanager
    def _in_turn(self) -> Iterator[None]:
        connection = self.connection
        if connection.vendor != "sqlite" or connection.in_atomic_block:
            yield
            return
        # What is to happen after a commit happens within the turn, and may begin a transaction of its own.
        seconds = connection.settings_dict["OPTIONS"].get("timeout", _SQLITE_TIMEOUT)
        with ExitStack() as turn:
            try:
                turn.enter_context(self._writing.held(seconds))
            except WaitedTooLong as error:
                raise OperationalError("database is locked") from error
            yield

    def acquire(self, lock: Lock) -> None:
        """Wait for a lock and hold it until the current transaction ends.

        Raises:
            NotInTransaction: There is no transaction to hold it.
        """
        connection = self.connection
        if not connection.in_atomic_block:
            raise NotInTransaction(lock.name)
        if connection.vendor == "postgresql":
            self.execute("SELECT pg_advisory_xact_lock(%s)", [self._key(lock)])

    def try_acquire(self, lock: Lock) -> bool:
        """Hold a lock until the current transaction ends, unless somebody has it; say whether it is held.

        Raises:
            NotInTransaction: There is no transaction to hold it.
        """
        connection = self.connection
        if not connection.in_atomic_block:
            raise NotInTransaction(lock.name)
        if connection.vendor != "postgresql":
            return True
        found = self.row("SELECT pg_try_advisory_xact_lock(%s)", [self._key(lock)])
        return found is not None and bool(found[0])

    def flush(self) -> None:
        """See that all that was committed is on the disk: before others hear of it. No statement.

        With NODE_SQLITE_SYNCHRONOUS=NORMAL a commit survives the end of the process, and reaches the disk
        some time later; that will do as long as nobody else has seen it. Until then it is in SQLite's
        write-ahead log; copying that waits for the disk by itself. Nobody locks that file, so closing it
        here releases no lock of SQLite's. PostgreSQL waits for the disk at each commit.
        """
        connection = self.connection
        if connection.vendor != "sqlite":
            return
        try:
            log = os.open(f"{connection.settings_dict['NAME']}-wal", os.O_RDONLY)
        except FileNotFoundError:
            return
        try:
            os.fsync(log)
        finally:
            os.close(log)

    def rows(self, sql: str, params: Sequence[Any] = ()) -> Rows:
        """Return all rows of a query."""
        with self.connection.cursor() as cursor:
            cursor.execute(sql, params)
            found: Rows = cursor.fetchall()
            return found

    def row(self, sql: str, params: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        """Return the first row of a query, or None."""
        with self.connection.cursor() as cursor:
            cursor.execute(sql, params)
            found: tuple[Any, ...] | None = cursor.fetchone()
            return found

    def execute(self, sql: str, params: Sequence[Any] = ()) -> None:
        """Run a statement that answers nothing."""
        with self.connection.cursor() as cursor:
            cursor.execute(sql, params)

    def rows_by_keys(self, sql: str, keys: Sequence[Any], before: Sequence[Any] = ()) -> Rows:
        """Return the rows of a query for many keys; `{keys}` in it stands for their list.

        The values of `before` belong to the marks in front of it.
        """
        found: Rows = []
        for start in range(0, len(keys), _MOST_KEYS):
            part = keys[start : start + _MOST_KEYS]
            marked = sql.replace("{keys}", ", ".join(["%s"] * len(part)))
            found += self.rows(marked, [*before, *part])
        return found

    def insert(self, model: type[Model], columns: Columns, rows: Iterable[Row]) -> None:
        """Insert rows; each has the values of `columns` (names of fields) in their order."""
        sql = self._statement("insert", model, columns)
        self._execute_many(sql, model, columns, rows)

    def upsert(self, model: type[Model], columns: Columns, rows: Iterable[Row]) -> None:
        """Insert rows, or overwrite those that have the same primary key (the first column)."""
        sql = self._statement("upsert", model, columns)
        self._execute_many(sql, model, columns, rows)

    def update(
        self, model: type[Model], keys: Columns, columns: Columns, rows: Iterable[Row]
    ) -> None:
        """Overwrite `columns` of the rows that have the given values in `keys`.

        Each of `rows` has the values of `columns`, then those of `keys`.
        """
        sql = self._statement("update", model, columns, keys)
        self._execute_many(sql, model, (*columns, *keys), rows)

    def delete(self, model: type[Model], columns: Columns, rows: Iterable[Row]) -> None:
        """Delete the rows that have the given values in `columns`, one row of values for each."""
        sql = self._statement("delete", model, columns)
        self._execute_many(sql, model, columns, rows)

    def _key(self, lock: Lock) -> int:
        return self._lock_space ^ int(lock)

    def _execute_many(
        self, sql: str, model: type[Model], columns: Columns, rows: Iterable[Row]
    ) -> None:
        connection = self.connection
        vendor = connection.vendor  # asking for each value takes longer than to adapt it
        wide = self._wide_integers(model, columns) if vendor != "postgresql" else {}
        adapted = [_adapt(row, wide, vendor) for row in rows] if wide else list(rows)
        if adapted:
            with connection.cursor() as cursor:
                cursor.executemany(sql, adapted)

    def _statement(
        self, verb: str, model: type[Model], columns: Columns, keys: Columns = ()
    ) -> str:
        """Return a statement; those that were made once are kept, one for each kind of row."""
        name = (verb, model, columns, keys)
        known = self._statements.get(name)
        if known is None:
            known = self._statements[name] = self._write(verb, model, columns, keys)
        return known

    def _write(self, verb: str, model: type[Model], columns: Columns, keys: Columns) -> str:
        table = self._quote(model._meta.db_table)
        names = [self._column(model, name) for name in columns]
        if verb == "delete":
            return f"DELETE FROM {table} WHERE {_equal(names, ' AND ')}"  # noqa: S608  # names are the model's
        if verb == "update":
            matches = _equal([self._column(model, name) for name in keys], " AND ")
            return f"UPDATE {table} SET {_equal(names, ', ')} WHERE {matches}"  # noqa: S608  # as above
        marks = ", ".join(["%s"] * len(names))
        sql = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})"  # noqa: S608  # as above
        if verb == "insert":
            return sql
        updates = ", ".join(f"{name} = excluded.{name}" for name in names[1:])
        return f"{sql} ON CONFLICT ({names[0]}) DO UPDATE SET {updates}"

    def _wide_integers(self, model: type[Model], columns: Columns) -> dict[int, int]:
        """Return the places of integers beyond 63 bits, and how many digits they have."""
        known = self._wide.get((model, columns))
        if known is None:
            fields = ((place, model._meta.get_field(name)) for place, name in enumerate(columns))
            known = {place: one.digits for place, one in fields if isinstance(one, UnsignedField)}
            self._wide[model, columns] = known
        return known

    def _column(self, model: type[Model], name: str) -> str:
        field = model._meta.get_field(name)
        assert isinstance(field, Field)
        assert field.column is not None
        return self._quote(field.column)

    def _quote(self, name: str) -> str:
        return str(self.connection.ops.quote_name(name))


def _adapt(row: Row, wide: Mapping[int, int], vendor: str) -> list[Any]:
    """Give big integers the form that this database's columns have."""
    values = list(row)
    for place, digits in wide.items():
        if values[place] is not None:
            values[place] = for_database(values[place], digits, vendor)
    return values


def _equal(names: Iterable[str], between: str) -> str:
    return between.join(f"{name} = %s" for name in names)
