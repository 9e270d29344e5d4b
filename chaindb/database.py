"""One database of the node, under its Django alias: plain SQL, bulk writes, transactions and locks.

A chain holds the one that its rows are in and passes it on, so nothing here knows which chain it is.
Rules and shapes of rows are their owners'; what fields look like is `fields`.
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

from chaindb.bulk import BulkStatement, Columns, Question, Row, Rows, bulk_statement
from chaindb.locks import BUSY_SECONDS, Lock, NotInTransaction
from primitives.fair_lock import FairLock, WaitedTooLong

__all__ = ["Database", "Question", "Row", "Rows"]

M = TypeVar("M", bound=Model)

_NOTICED = 0.5
"""Seconds of waiting within the process that count against them."""

_MOST_KEYS = 500
"""Keys in one statement; databases have a limit, and plans for more are no better."""


class _Mine(threading.local):
    """What one thread has with a database."""

    def __init__(self) -> None:
        self.ahead: dict[tuple[str, tuple[Any, ...]], Rows] = {}
        """What it has read ahead, by the query."""
        self.waiting: list[Question] | None = None
        """Statements to be sent together; None where each is sent by itself."""
        self.lost = False
        """Whether some that were sent together have failed: nothing is done without them."""


def _hashable(question: Question) -> tuple[str, tuple[Any, ...]]:
    sql, params = question
    return sql, tuple(params)


def _nothing() -> None:
    """Do nothing: nobody asked for more."""


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
        self.after_writing: Callable[[], object] = _nothing
        """Is called after each transaction of SQLite's that was committed, when others may write."""
        self._mine = _Mine()
        self._statements: dict[tuple[Any, ...], BulkStatement] = {}

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
        with self.turn(), transaction.atomic(using=self.alias, durable=durable):
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
    def turn(self) -> Iterator[None]:
        """Keep others of this process from writing to SQLite during the body; on PostgreSQL nobody is kept from it.

        Raises:
            OperationalError: Others have held the lock for `BUSY_SECONDS`.
        """
        connection = self.connection
        if connection.vendor != "sqlite" or connection.in_atomic_block:
            yield
            return
        # What is to happen after a commit happens within the turn, and may begin a transaction of its own.
        until = time.monotonic() + BUSY_SECONDS
        with ExitStack() as turn:
            try:
                turn.enter_context(self._writing.held(BUSY_SECONDS))
            except WaitedTooLong as error:
                raise OperationalError("database is locked") from error
            left = until - time.monotonic()
            if left < BUSY_SECONDS - _NOTICED:
                # Another process may have the lock, too: for both together no longer than for one.
                self.execute(f"PRAGMA busy_timeout = {max(1, round(1000 * left))}")
                usual = f"PRAGMA busy_timeout = {round(1000 * BUSY_SECONDS)}"
                turn.callback(self.execute, usual)
            yield
        self.after_writing()

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
        (question,) = self.lock_questions(lock)
        found = self.row(*question)
        return found is not None and bool(found[0])

    def lock_questions(self, lock: Lock) -> list[Question]:
        """Return what `try_acquire` asks: nothing on SQLite."""
        if self.connection.vendor != "postgresql":
            return []
        return [("SELECT pg_try_advisory_xact_lock(%s)", [self._key(lock)])]

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

    @contextmanager
    def atomic_together(self) -> Iterator[None]:
        """Run the body in a durable transaction that takes few messages to PostgreSQL.

        What is written goes with the next question, and the rest in the end; that message commits the transaction, and
        the first one begins it, where it is not the ORM's or one of many rows. Locks are taken with the next question
        too. Each message costs both processes far more than a statement in it. Queries of the ORM come behind what
        waits. An error of a statement is raised by the message that it is in, and undoes all, but for what is before a
        savepoint.
        """
        with self.atomic(durable=True):
            connection = self.connection
            if connection.vendor != "postgresql":
                yield
                return
            self._mine.waiting, self._mine.lost = [], False
            try:
                with connection.execute_wrapper(self._send_before):
                    yield
                    if not connection.needs_rollback:
                        # Tests have another transaction around it.
                        is_all = len(connection.atomic_blocks) == 1 and connection.commit_on_exit
                        self._send((), commits=is_all)
            finally:
                self._mine.waiting, self._mine.lost = None, False

    def send_waiting(self) -> None:
        """Send what waits to be sent together, and wait until it is done."""
        self._send(())

    def answers(self, questions: Sequence[Question]) -> list[Rows]:
        """Return the rows of each of some queries; PostgreSQL is asked all of them at once.

        Each sees what is committed when it runs.
        """
        if questions and self.connection.vendor == "postgresql":
            return self._send(questions)
        return [self.rows(*question) for question in questions]

    @contextmanager
    def read_ahead(self, questions: Sequence[Question]) -> Iterator[None]:
        """Have PostgreSQL answer some queries at once that the body asks one by one.

        Each answer is given once, as of the body's beginning, to who asks this object the very same in this thread;
        none after the thread has written through it or has waited for a lock. What is asked besides, or again, is
        asked as ever. What is remembered for longer must not be able to change between the beginning and the question,
        or it is looked at again before it counts.
        """
        mine = self._mine
        asked = []
        if self.connection.vendor == "postgresql":
            asked = [one for one in map(_hashable, questions) if one not in mine.ahead]
        mine.ahead.update(zip(asked, self.answers(asked), strict=True))
        try:
            yield
        finally:
            for one in asked:
                mine.ahead.pop(one, None)

    def rows(self, sql: str, params: Sequence[Any] = ()) -> Rows:
        """Return all rows of a query."""
        known = self._known(sql, params)
        if known is not None:
            return known
        with self.connection.cursor() as cursor:
            cursor.execute(sql, params)
            found: Rows = cursor.fetchall()
            return found

    def row(self, sql: str, params: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        """Return the first row of a query, or None."""
        known = self._known(sql, params)
        if known is not None:
            return known[0] if known else None
        with self.connection.cursor() as cursor:
            cursor.execute(sql, params)
            found: tuple[Any, ...] | None = cursor.fetchone()
            return found

    def execute(self, sql: str, params: Sequence[Any] = ()) -> None:
        """Run a statement that answers nothing."""
        mine = self._mine
        mine.ahead.clear()
        if mine.waiting is not None:
            mine.waiting.append((sql, params))
            return
        with self.connection.cursor() as cursor:
            cursor.execute(sql, params)

    def _known(self, sql: str, params: Sequence[Any]) -> Rows | None:
        """Return what was read ahead, once; or what is answered behind statements that wait."""
        mine = self._mine
        known = mine.ahead.pop(_hashable((sql, params)), None) if mine.ahead else None
        if known is None and mine.waiting is not None:
            return self._send([(sql, params)])[0]
        return known

    def _send_before(
        self,
        execute: Callable[..., Any],
        sql: str,
        params: Any,
        many: bool,  # noqa: FBT001  # Django's
        context: Any,
    ) -> Any:
        """Run a statement behind what waits, as one of Django's `execute_wrappers`."""
        if sql.startswith("ROLLBACK TO SAVEPOINT"):
            # What waits, or was lost, came behind the savepoint, which was sent by itself.
            self._mine.waiting, self._mine.lost = [], False
        self._send(())
        return execute(sql, params, many, context)

    def _send(self, questions: Sequence[Question], *, commits: bool = False) -> list[Rows]:
        """Send PostgreSQL what waits, and questions behind it, in one message; return their answers.

        Raises:
            TransactionManagementError: An earlier message of the transaction has failed.
        """
        mine = self._mine
        if mine.lost:
            raise TransactionManagementError("what was to be written before has failed")
        waiting = mine.waiting or []
        everything = [*waiting, *questions]
        if not everything:
            return []
        if waiting:
            mine.waiting = []
        connection: Any = self.connection  # PostgreSQL's has what Django's own have not
        try:
            found: list[Rows] = connection.send(everything, commits=commits)
        except BaseException:
            mine.lost = mine.waiting is not None
            raise
        return found[len(waiting) :]

    def rows_by_keys(self, sql: str, keys: Sequence[Any], before: Sequence[Any] = ()) -> Rows:
        """Return the rows of a query for many keys; `{keys}` in it stands for their list.

        The values of `before` belong to the marks in front of it.
        """
        return [row for one in self.key_questions(sql, keys, before) for row in self.rows(*one)]

    def key_questions(
        self, sql: str, keys: Sequence[Any], before: Sequence[Any] = ()
    ) -> list[Question]:
        """Return what `rows_by_keys` asks: a statement for each part of many keys."""
        parts = [keys[start : start + _MOST_KEYS] for start in range(0, len(keys), _MOST_KEYS)]
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
        """Delete the rows that have the given values in `columns`, one row of values for each."""
        self._write("delete", model, columns, (), rows)

    def _key(self, lock: Lock) -> int:
        return self._lock_space ^ int(lock)

    def _write(
        self, verb: str, model: type[Model], columns: Columns, keys: Columns, rows: Iterable[Row]
    ) -> None:
        """Run a bulk statement; those that were made once are kept, one for each kind of row."""
        name = (verb, model, columns, keys)
        statement = self._statements.get(name)
        if statement is None:
            statement = self._statements[name] = bulk_statement(self.connection, *name)
        mine = self._mine
        mine.ahead.clear()
        for part in statement.parts(rows):
            if mine.waiting is not None and (few := statement.of_few(part)) is not None:
                mine.waiting.append(few)
            else:
                self._send(())
                statement.run(self.connection, part)
