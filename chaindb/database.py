"""One database of the node, by its Django alias: plain SQL, bulk writes, transactions and locks.

A chain passes in the database of its rows, so this module does not depend on the chain. The owners
of the rows define rules and tables; `fields` defines the column types.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar
from zlib import crc32

from django.db import DEFAULT_DB_ALIAS, OperationalError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Model, QuerySet
from django.db.transaction import TransactionManagementError
from typing_extensions import override

from chaindb.bulk import BulkStatement, Columns, Row, Rows, SqlQuery, bulk_statement
from chaindb.connections import on_event_loop
from chaindb.locks import BUSY_SECONDS, Lock, NotInTransaction
from chaindb.replicas import Replicas
from primitives.fair_lock import FairLock, WaitedTooLong

__all__ = ["Database", "Row", "Rows", "SqlQuery"]

M = TypeVar("M", bound=Model)
T = TypeVar("T")

_NOTICEABLE = 0.5
"""A wait for other threads that is longer than this many seconds is subtracted from SQLite's own timeout."""

_MAX_KEYS = 500
"""Maximum keys in one statement. Databases have a limit, and larger statements are not planned better."""


class _ThreadState(threading.local):
    """State of one thread for a database."""

    def __init__(self) -> None:
        self.prefetched: dict[tuple[str, tuple[Any, ...]], Rows] = {}
        """Prefetched rows, by query."""
        self.queued: list[SqlQuery] | None = None
        """Statements to send together; None if each statement is sent separately."""
        self.has_failed = False
        """Whether statements that were sent together have failed; later statements then fail too."""
        self.replica: str | None = None
        """Alias of the replica that this thread reads from; None: it uses the database itself."""


def _key(query: SqlQuery) -> tuple[str, tuple[Any, ...]]:
    sql, params = query
    return sql, tuple(params)


def _nothing() -> None:
    """Do nothing. Default of `after_writing`."""


class Database:
    """A database by its alias. Threads share the object; Django gives each its own connection.

    Plain SQL is for the few queries of every block and every submission: building an ORM query takes
    several times as long as a lookup by key in the database. Bulk writes are for the rows of a block:
    a model instance takes ten times as long as writing its row.
    """

    def __init__(self, alias: str = DEFAULT_DB_ALIAS) -> None:
        self.alias = alias
        # Schemas of one PostgreSQL database share its advisory locks, so each alias has its own numbers.
        self._lock_space = 0 if alias == DEFAULT_DB_ALIAS else crc32(alias.encode()) >> 1 << 32
        self._writing = FairLock()
        self.replicas: Replicas | None = None
        """Answer reads in `on_replica`; None: there are none."""
        self.after_writing: Callable[[], object] = _nothing
        """Is called after each committed SQLite transaction, when others may write again."""
        self._local = _ThreadState()
        self._statements: dict[tuple[Any, ...], BulkStatement] = {}

    @override
    def __repr__(self) -> str:
        return f"Database({self.alias!r})"

    @property
    def connection(self) -> BaseDatabaseWrapper:
        """This thread's connection."""
        return connections[self._local.replica or self.alias]

    def has_table(self, name: str) -> bool:
        """Return whether a table exists. A missing SQLite file is not created by this check."""
        connection = self.connection
        if connection.vendor == "sqlite" and not os.path.exists(connection.settings_dict["NAME"]):
            return False
        with connection.cursor() as cursor:
            return name in connection.introspection.table_names(cursor)

    def objects(self, model: type[M]) -> QuerySet[M]:
        """Return all rows of a model in this database, as a queryset."""
        alias = self._local.replica or self.alias
        return model._default_manager.using(alias)  # noqa: SLF001  # Django documents it

    def on_replica(self, read: Callable[[], T]) -> T:
        """Run a historical read on a replica that has everything this database has now, if there is one.

        The first transaction or statement in it that may write ends the use of the replica: all that follows uses this
        database. If the replica fails, the read runs again on this database, so it must have no effects of its own.
        """
        if self.replicas is None or self._local.replica or on_event_loop():
            return read()
        if self.connection.in_atomic_block:  # the transaction must see its own writes
            return read()
        return self.replicas.run(self, read)

    @contextmanager
    def reading_from(self, alias: str) -> Iterator[None]:
        """Let this thread's queries in the body go to a replica, by its alias."""
        self._local.replica = alias
        try:
            yield
        finally:
            self._local.replica = None

    @contextmanager
    def atomic(self, *, durable: bool = False) -> Iterator[None]:
        """Run the body in a transaction; see `django.db.transaction.atomic`.

        On SQLite, transactions of this process start in the order of the calls. Each holds the write
        lock from its start, and SQLite itself hands that lock over in no particular order.

        Raises:
            OperationalError: On SQLite: others held the lock for as long as SQLite would have waited.
        """
        self._local.replica = None
        with self.turn(), transaction.atomic(using=self.alias, durable=durable):
            yield

    @contextmanager
    def consistent_read(self) -> Iterator[None]:
        """Let this thread's connection see one state of the database in the body, without blocking writers.

        The body only reads and may take any time. Meanwhile SQLite's write-ahead log grows by all
        writes of others.
        """
        connection = self.connection
        assert not connection.in_atomic_block, "a consistent read starts outside of transactions"
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
    def turn(self) -> Iterator[None]:
        """Keep other threads of this process from writing to SQLite in the body; no-op on PostgreSQL.

        Raises:
            OperationalError: Others held the lock for `BUSY_SECONDS`.
        """
        connection = self.connection
        if connection.vendor != "sqlite" or connection.in_atomic_block:
            yield
            return
        # Callbacks after a commit run within the turn and may start their own transaction.
        until = time.monotonic() + BUSY_SECONDS
        with ExitStack() as turn:
            try:
                turn.enter_context(self._writing.held(BUSY_SECONDS))
            except WaitedTooLong as error:
                raise OperationalError("database is locked") from error
            left = until - time.monotonic()
            if left < BUSY_SECONDS - _NOTICEABLE:
                # Another process may have the lock too: wait no longer for both than for one.
                self.execute(f"PRAGMA busy_timeout = {max(1, round(1000 * left))}")
                usual = f"PRAGMA busy_timeout = {round(1000 * BUSY_SECONDS)}"
                turn.callback(self.execute, usual)
            yield
        self.after_writing()

    def acquire(self, lock: Lock) -> None:
        """Wait for a lock and hold it until the current transaction ends.

        Raises:
            NotInTransaction: There is no transaction to hold the lock.
        """
        connection = self.connection
        if not connection.in_atomic_block:
            raise NotInTransaction(lock.name)
        if connection.vendor == "postgresql":
            self.execute("SELECT pg_advisory_xact_lock(%s)", [self.key_of(lock)])

    def try_acquire(self, lock: Lock) -> bool:
        """Take a lock until the current transaction ends if it is free. Return whether it was taken.

        Raises:
            NotInTransaction: There is no transaction to hold the lock.
        """
        connection = self.connection
        if not connection.in_atomic_block:
            raise NotInTransaction(lock.name)
        if connection.vendor != "postgresql":
            return True
        (query,) = self.lock_queries(lock)
        row = self.row(*query)
        return row is not None and bool(row[0])

    def lock_queries(self, lock: Lock) -> list[SqlQuery]:
        """Return the queries of `try_acquire`: none on SQLite."""
        if self.connection.vendor != "postgresql":
            return []
        return [("SELECT pg_try_advisory_xact_lock(%s)", [self.key_of(lock)])]

    def flush(self) -> None:
        """Wait until all commits are on disk, before they become visible to others. Runs no statement.

        With NODE_SQLITE_SYNCHRONOUS=NORMAL a commit survives the end of the process but reaches the
        disk later, which suffices until others have seen it. Until then it is in SQLite's write-ahead
        log; a checkpoint waits for the disk anyway. SQLite takes no locks on that file, so closing it
        here releases none. PostgreSQL waits for the disk at each commit.
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

    @contextmanager
    def atomic_together(self) -> Iterator[None]:
        """Run the body in a durable transaction that sends few messages to PostgreSQL.

        Writes and locks are sent with the next query, the rest at the end. The last message commits
        the transaction. The first one begins it, unless that is an ORM query or a bulk write. Each
        message costs both processes far more than a statement in it. ORM queries are sent after the
        queued statements. An error of a statement is raised by the message that contains it, and
        undoes the whole transaction except what precedes a savepoint.
        """
        with self.atomic(durable=True):
            connection = self.connection
            if connection.vendor != "postgresql":
                yield
                return
            self._local.queued, self._local.has_failed = [], False
            try:
                with connection.execute_wrapper(self._send_before):
                    yield
                    if not connection.needs_rollback:
                        # Tests wrap another transaction around this one.
                        is_all = len(connection.atomic_blocks) == 1 and connection.commit_on_exit
                        self._send((), commits=is_all)
            finally:
                self._local.queued, self._local.has_failed = None, False

    def send_queued(self) -> None:
        """Send the queued statements and wait until they have run."""
        self._send(())

    def answers(self, queries: Sequence[SqlQuery]) -> list[Rows]:
        """Return the rows of each query. PostgreSQL gets all queries in one message.

        Each query sees the data that is committed when it runs.
        """
        if queries and self.connection.vendor == "postgresql":
            return self._send(queries)
        return [self.rows(*query) for query in queries]

    @contextmanager
    def read_ahead(self, queries: Sequence[SqlQuery]) -> Iterator[None]:
        """Prefetch in one message to PostgreSQL the results of queries that the body runs one by one.

        Each prefetched result serves exactly one identical query from this thread and is as of the
        body's beginning. Prefetched results are discarded as soon as the thread writes or waits for a
        lock. Any other or repeated query goes to the database. If a result is cached for longer, its
        value must not be able to change between the prefetch and the query, or the caller must check
        it again before using it.
        """
        local = self._local
        new_queries = []
        if self.connection.vendor == "postgresql":
            new_queries = [query for query in map(_key, queries) if query not in local.prefetched]
        local.prefetched.update(zip(new_queries, self.answers(new_queries), strict=True))
        try:
            yield
        finally:
            for query in new_queries:
                local.prefetched.pop(query, None)

    def rows(self, sql: str, params: Sequence[Any] = ()) -> Rows:
        """Return all rows of a query."""
        prefetched = self._prefetched(sql, params)
        if prefetched is not None:
            return prefetched
        with self.connection.cursor() as cursor:
            cursor.execute(sql, params)
            rows: Rows = cursor.fetchall()
            return rows

    def row(self, sql: str, params: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        """Return the first row of a query, or None."""
        prefetched = self._prefetched(sql, params)
        if prefetched is not None:
            return prefetched[0] if prefetched else None
        with self.connection.cursor() as cursor:
            cursor.execute(sql, params)
            row: tuple[Any, ...] | None = cursor.fetchone()
            return row

    def execute(self, sql: str, params: Sequence[Any] = ()) -> None:
        """Run a statement that returns no rows."""
        local = self._local
        local.replica = None
        local.prefetched.clear()
        if local.queued is not None:
            local.queued.append((sql, params))
            return
        with self.connection.cursor() as cursor:
            cursor.execute(sql, params)

    def _prefetched(self, sql: str, params: Sequence[Any]) -> Rows | None:
        """Return the prefetched rows, once; or send the query after the queued statements, if any."""
        local = self._local
        prefetched = local.prefetched.pop(_key((sql, params)), None) if local.prefetched else None
        if prefetched is None and local.queued is not None:
            return self._send([(sql, params)])[0]
        return prefetched

    def _send_before(
        self,
        execute: Callable[..., Any],
        sql: str,
        params: Any,
        many: bool,  # noqa: FBT001  # Django's
        context: Any,
    ) -> Any:
        """Run a statement after the queued ones. One of Django's `execute_wrappers`."""
        if sql.startswith("ROLLBACK TO SAVEPOINT"):
            # Queued or failed statements came after the savepoint, which was sent separately.
            self._local.queued, self._local.has_failed = [], False
        self._send(())
        return execute(sql, params, many, context)

    def _send(self, queries: Sequence[SqlQuery], *, commits: bool = False) -> list[Rows]:
        """Send the queued statements and then the queries to PostgreSQL, in one message.

        Return the rows of the queries.

        Raises:
            TransactionManagementError: An earlier message of the transaction has failed.
        """
        local = self._local
        if local.has_failed:
            raise TransactionManagementError("an earlier statement of this transaction has failed")
        pending = local.queued or []
        everything = [*pending, *queries]
        if not everything:
            return []
        if pending:
            local.queued = []
        connection: Any = self.connection  # the PostgreSQL backend adds `send`
        try:
            results: list[Rows] = connection.send(everything, commits=commits)
        except BaseException:
            local.has_failed = local.queued is not None
            raise
        return results[len(pending) :]

    def rows_by_keys(self, sql: str, keys: Sequence[Any], before: Sequence[Any] = ()) -> Rows:
        """Return the rows of a query for many keys; the list of keys replaces `{keys}` in the query.

        `before` has the values of the placeholders in front of `{keys}`.
        """
        return [row for query in self.key_queries(sql, keys, before) for row in self.rows(*query)]

    def key_queries(
        self, sql: str, keys: Sequence[Any], before: Sequence[Any] = ()
    ) -> list[SqlQuery]:
        """Return the queries of `rows_by_keys`: one for each part of the keys."""
        parts = [keys[start : start + _MAX_KEYS] for start in range(0, len(keys), _MAX_KEYS)]
        return [
            (sql.replace("{keys}", ", ".join(["%s"] * len(part))), (*before, *part))
            for part in parts
        ]

    def insert(self, model: type[Model], columns: Columns, rows: Iterable[Row]) -> None:
        """Insert rows; each has the values of `columns` (names of fields) in their order."""
        self._write("insert", model, columns, (), rows)

    def upsert(self, model: type[Model], columns: Columns, rows: Iterable[Row]) -> None:
        """Insert rows, or overwrite those that have the same primary key (the first column)."""
        self._write("upsert", model, columns, (), rows)

    def update(
        self, model: type[Model], keys: Columns, columns: Columns, rows: Iterable[Row]
    ) -> None:
        """Overwrite `columns` of the rows that have the given values in `keys`.

        Each of `rows` has the values of `columns`, then those of `keys`.
        """
        self._write("update", model, columns, keys, rows)

    def delete(self, model: type[Model], columns: Columns, rows: Iterable[Row]) -> None:
        """Delete the rows that have the given values in `columns`; each of `rows` has one such set."""
        self._write("delete", model, columns, (), rows)

    def key_of(self, lock: Lock) -> int:
        """Return the key of a lock in PostgreSQL."""
        return self._lock_space ^ int(lock)

    def _write(
        self, verb: str, model: type[Model], columns: Columns, keys: Columns, rows: Iterable[Row]
    ) -> None:
        """Run a bulk statement. Statements are cached by kind of row."""
        name = (verb, model, columns, keys)
        statement = self._statements.get(name)
        if statement is None:
            statement = self._statements[name] = bulk_statement(self.connection, *name)
        local = self._local
        local.replica = None
        local.prefetched.clear()
        for part in statement.parts(rows):
            if local.queued is not None and (few := statement.of_few(part)) is not None:
                local.queued.append(few)
            else:
                self._send(())
                statement.run(self.connection, part)
