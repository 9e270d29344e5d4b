"""The backend itself, by the name under which Django looks for it."""

import time
from typing import Any, Final, Self

import psycopg
from django.db.backends.postgresql import base, operations
from django.db.backends.utils import CursorWrapper
from psycopg_pool import PoolTimeout
from typing_extensions import override

from chaindb.postgresql.session import PostgresqlAway, server

LONGEST: Final = 30.0
"""Seconds to wait for a connection of a pool that is busy, or not grown yet."""


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
        until = time.monotonic() + LONGEST
        while True:
            if words := server().failed():
                raise PostgresqlAway(words)
            try:
                return super().get_new_connection(conn_params)
            except PoolTimeout as error:  # the pool's time-out is short, since nobody says why
                if words := server().suspect(error):
                    raise PostgresqlAway(words) from error
                if time.monotonic() > until:
                    raise

    def prepared_cursor(self) -> CursorWrapper:
        """Return a cursor for statements that are run again and again, with values that go to the server as such."""
        self.ensure_connection()
        with self.wrap_database_errors:
            wrapped: CursorWrapper = self._prepare_cursor(PreparingCursor(self.connection))  # type: ignore[attr-defined]  # Django's own, as in `BaseDatabaseWrapper._cursor`
            return wrapped
