"""The backend itself, by the name under which Django looks for it."""

import time
from collections.abc import Sequence
from typing import Any, Final, Self

import psycopg
from django.db.backends.postgresql import base, operations
from django.db.backends.utils import CursorWrapper
from psycopg.pq import TransactionStatus
from psycopg_pool import ConnectionPool, PoolTimeout
from typing_extensions import override

from chaindb.bulk import Question, Rows
from chaindb.locks import BUSY_SECONDS
from chaindb.postgresql.session import Connection, PostgresqlAway, server, set_parameters

_IDLE: Final = TransactionStatus.IDLE
_BEGIN: Final[Question] = ("BEGIN", ())
_COMMIT: Final[Question] = ("COMMIT", ())

TRUSTED: Final = 0.5
"""Seconds since its last answer in which a connection of the pool is not asked whether it lives.

That is a message of its own; who meets the server's end in this time meets it with a statement instead."""


class PreparingCursor(psycopg.Cursor[Any]):
    """A cursor whose statements the server keeps, read and planned, for the next ones with the same text."""

    @override
    def execute(self, query: Any, params: Any = None, **_: Any) -> Self:
        # In their binary form, which is the shorter one.
        return super().execute(query.replace("%s", "%b"), params, prepare=True)


class DatabaseOperations(operations.DatabaseOperations):
    """Shows statements that were prepared, too, to who captures them."""

    @override
    def last_executed_query(self, cursor: Any, sql: Any, params: Any) -> str:
        """Return the last statement with its values; of one that was prepared, with the marks for them."""
        return super().last_executed_query(cursor, sql, params) or str(sql)


class DatabaseWrapper(base.DatabaseWrapper):
    """Gives no connection to a server that is known to be away: the answer is there at once."""

    ops_class = DatabaseOperations

    @override
    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        until = time.monotonic() + BUSY_SECONDS
        while True:
            if words := server().failed():
                raise PostgresqlAway(words)
            try:
                connection = super().get_new_connection(conn_params)
                if self.pool is None or _lives(connection, self.pool):
                    return connection
            except PoolTimeout as error:  # the pool's time-out is short, since nobody says why
                if words := server().suspect(error):
                    raise PostgresqlAway(words) from error
                if time.monotonic() > until:
                    raise

    def _configure_connection(self, connection: Any) -> bool:
        """Set up a new session; Django calls it for connections of the pool, too."""
        super()._configure_connection(connection)  # type: ignore[misc]  # Django's own
        set_parameters(connection)
        return True

    def send(self, statements: Sequence[Question], *, commits: bool = False) -> list[Rows]:
        """Run statements in one message; return the rows of each, none for one that answers nothing.

        The first message of a transaction begins it too, which the driver would do by one before it: as the server
        does by itself, since OPTIONS sets no level of isolation.

        Args:
            statements: With their values, in their order.
            commits: End the transaction with the message. Django's own commit, which is to follow, sends nothing then.
        """
        self.ensure_connection()
        connection = self.connection
        begins = self.in_atomic_block and connection.info.transaction_status == _IDLE
        before, after = [_BEGIN] * begins, [_COMMIT] * commits
        if begins:
            connection.autocommit = True  # so that it sends none of its own
        try:
            found = self._run([*before, *statements, *after])
        finally:
            if begins and connection.info.transaction_status == _IDLE:
                connection.autocommit = False  # it did not come to that
        return found[len(before) : len(before) + len(statements)]

    def _run(self, statements: Sequence[Question]) -> list[Rows]:
        with self.cursor() as cursor:
            cursor.execute(
                ";".join(sql for sql, _ in statements),
                [value for _, params in statements for value in params],
            )
            found = []
            for place in range(len(statements)):
                if place and not cursor.nextset():
                    raise AssertionError(f"no answer to statement {place}")  # one was empty
                found.append(cursor.fetchall() if cursor.description else [])
            return found

    def prepared_cursor(self) -> CursorWrapper:
        """Return a cursor for statements that are run again and again, with values that go to the server as such."""
        self.ensure_connection()
        with self.wrap_database_errors:
            wrapped: CursorWrapper = self._prepare_cursor(PreparingCursor(self.connection))  # type: ignore[attr-defined]  # Django's own, as in `BaseDatabaseWrapper._cursor`
            return wrapped


def _lives(connection: Connection, pool: ConnectionPool[Connection]) -> bool:
    """Return whether a connection of a pool can be used; else the pool has it back, and makes another one."""
    if connection.answered_within(TRUSTED):
        return True
    try:
        pool.check_connection(connection)
    except psycopg.Error:
        pool.putconn(connection)
        return False
    except BaseException:
        pool.putconn(connection)
        raise
    return True
