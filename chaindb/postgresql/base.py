"""The backend itself, by the name under which Django looks for it."""

import time
from typing import Any, Final

from django.db.backends.postgresql import base
from psycopg_pool import PoolTimeout
from typing_extensions import override

from chaindb.postgresql.session import PostgresqlAway, server

LONGEST: Final = 30.0
"""Seconds to wait for a connection of a pool that is busy, or not grown yet."""


class DatabaseWrapper(base.DatabaseWrapper):
    """Gives no connection to a server that is known to be away: the answer is there at once."""

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
