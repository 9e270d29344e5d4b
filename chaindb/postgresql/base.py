"""The backend itself, in the module that Django imports."""

import time
from collections.abc import Sequence
from typing import Any, Final, Self

import psycopg
from django.db import DEFAULT_DB_ALIAS
from django.db.backends.postgresql import base, operations
from django.db.backends.utils import CursorWrapper
from psycopg.pq import TransactionStatus
from psycopg_pool import ConnectionPool, PoolTimeout
from typing_extensions import override

from chaindb.bulk import Rows, SqlQuery
from chaindb.locks import BUSY_SECONDS
from chaindb.postgresql.session import (
    SERVER,
    PostgresqlAway,
    WatchedConnection,
    server_of,
    set_parameters,
)

_IDLE: Final = TransactionStatus.IDLE
_BEGIN: Final[SqlQuery] = ("BEGIN", ())
_COMMIT: Final[SqlQuery] = ("COMMIT", ())

TRUSTED_SECONDS: Final = 0.5
"""Seconds after its last answer in which a pooled connection is used without a check.

The check is a separate message. If the server fails within this time, a statement fails instead."""


class PreparingCursor(psycopg.Cursor[Any]):
    """A cursor whose statements the server prepares, for later statements with the same text."""

    @override
    def execute(self, query: Any, params: Any = None, **_: Any) -> Self:
        # Send the values in binary form, which is shorter.
        return super().execute(query.replace("%s", "%b"), params, prepare=True)


class DatabaseOperations(operations.DatabaseOperations):
    """Shows prepared statements too in captured queries."""

    @override
    def last_executed_query(self, cursor: Any, sql: Any, params: Any) -> str:
        """Return the last statement with its values, or with placeholders if it was prepared."""
        return super().last_executed_query(cursor, sql, params) or str(sql)


class DatabaseWrapper(base.DatabaseWrapper):
    """Fails immediately, without a connection attempt, if the server is known to be unreachable."""

    ops_class = DatabaseOperations

    @override
    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        until = time.monotonic() + BUSY_SECONDS
        server = server_of(self.settings_dict.get(SERVER, DEFAULT_DB_ALIAS))
        while True:
            if outage := server.failed():
                raise PostgresqlAway(outage)
            try:
                connection = super().get_new_connection(conn_params)
                if self.pool is None or _is_usable(connection, self.pool):
                    return connection
            except PoolTimeout as error:  # has no reason; the pool's timeout is short, so ask again
                if outage := server.suspect(error):
                    raise PostgresqlAway(outage) from error
                if time.monotonic() > until:
                    raise

    def _configure_connection(self, connection: Any) -> bool:
        """Set up a new session. Django calls it for pooled connections too."""
        super()._configure_connection(connection)  # type: ignore[misc]  # Django's own
        set_parameters(connection)
        return True

    def send(self, statements: Sequence[SqlQuery], *, commits: bool = False) -> list[Rows]:
        """Run statements in one message; return the rows of each, an empty list if it has none.

        The first message of a transaction also begins it. Otherwise the driver would send a separate
        message. A plain BEGIN suffices, since OPTIONS sets no isolation level.

        Args:
            statements: SQL and values, in order.
            commits: End the transaction with the message. Django's own commit then sends nothing.
        """
        self.ensure_connection()
        connection = self.connection
        begins = self.in_atomic_block and connection.info.transaction_status == _IDLE
        before, after = [_BEGIN] * begins, [_COMMIT] * commits
        if begins:
            connection.autocommit = True  # so that the driver sends no BEGIN of its own
        try:
            results = self._run([*before, *statements, *after])
        finally:
            if begins and connection.info.transaction_status == _IDLE:
                connection.autocommit = False  # the transaction was not begun
        return results[len(before) : len(before) + len(statements)]

    def _run(self, statements: Sequence[SqlQuery]) -> list[Rows]:
        with self.cursor() as cursor:
            cursor.execute(
                ";".join(sql for sql, _ in statements),
                [value for _, params in statements for value in params],
            )
            results = []
            for place in range(len(statements)):
                if place and not cursor.nextset():
                    raise AssertionError(f"no answer to statement {place}")  # a statement was empty
                results.append(cursor.fetchall() if cursor.description else [])
            return results

    def prepared_cursor(self) -> CursorWrapper:
        """Return a cursor for statements that are run repeatedly, with values sent separately."""
        self.ensure_connection()
        with self.wrap_database_errors:
            wrapped: CursorWrapper = self._prepare_cursor(PreparingCursor(self.connection))  # type: ignore[attr-defined]  # Django's own, as in `BaseDatabaseWrapper._cursor`
            return wrapped


def _is_usable(connection: WatchedConnection, pool: ConnectionPool[WatchedConnection]) -> bool:
    """Return whether a pooled connection is usable; else give it back so that the pool replaces it."""
    if connection.answered_within(TRUSTED_SECONDS):
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
