"""Connections to PostgreSQL that notice when the server is lost, or silent for another reason than work."""

import time
from collections.abc import Callable, Generator
from functools import cache
from typing import Any, Final

import psycopg
from django.db import connections
from psycopg import pq, waiting
from typing_extensions import override

from chaindb.servers import SILENCE, Server, ServerAway

_BEAT: Final = 0.1
"""Seconds after which a wait looks at the clock."""

# A connect that fails has no SQLSTATE, so it is told by the server's words, of which libpq gives no others.
# They are English unless `lc_messages` says otherwise: then the outage is told, and its cause is not.
_WORDS: Final = {
    "starting up": "it is starting up or shutting down",
    "shutting down": "it is starting up or shutting down",
    "recovery": "it is starting up or shutting down",
    "password authentication failed": "it refuses this node's password",
    "no pg_hba.conf entry": "it refuses this node",
    "does not exist": "it has no such database or user",
    "onnection refused": "connection refused",
    "resolve": "its name is unknown",
    "translate host name": "its name is unknown",
}
_FULL: Final = ("too many connections", "too many clients", "connection slots")
"""It answers, though it has no room for one more connection: those that there are go on."""


class PostgresqlAway(ServerAway, psycopg.OperationalError):
    """PostgreSQL does not answer."""


class Connection(psycopg.Connection[Any]):
    """A connection whose waits end when the server does not live any more."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._answered = time.monotonic()

    def answered_within(self, seconds: float) -> bool:
        """Return whether the server has said something to it, not longer ago, and it is open."""
        return not self.closed and time.monotonic() - self._answered < seconds

    def _hear(self) -> None:
        self._answered = time.monotonic()
        server().heard()

    @override
    def wait(
        self, gen: Generator[Any, Any, Any], interval: float = _BEAT, timeout: float | None = None
    ) -> Any:
        try:
            return super().wait(_while_it_lives(gen, self._hear), interval, timeout)
        except PostgresqlAway:
            self.close()  # nobody knows what the server has done of it
            raise
        except psycopg.OperationalError as error:
            if self.pgconn.status != pq.ConnStatus.OK and (words := server().suspect(error)):
                raise PostgresqlAway(words) from error
            raise


def _while_it_lives(
    gen: Generator[Any, Any, Any], heard: Callable[[], object]
) -> Generator[Any, Any, Any]:
    """Hand on what a wait yields and is sent, and end it when nothing comes of a server that is away.

    Args:
        gen: The wait.
        heard: Called when something has come.
    """
    silent_since: float | None = None
    read = False
    try:
        state = next(gen)
        while True:
            ready = yield state
            if ready:
                silent_since = None
            else:
                now = time.monotonic()
                silent_since = silent_since or now - _BEAT  # it has lasted for one
                if now - silent_since >= SILENCE and (words := server().suspect()):
                    raise PostgresqlAway(words)
            read = bool(ready & waiting.Ready.R)
            state = gen.send(ready)
            if read:  # and it was not the end of the connection: that raises
                heard()
    except StopIteration as done:
        if read:
            heard()
        return done.value


@cache
def server() -> Server:
    """Return the database's server.

    One for the process, since Django makes a connection for each thread, and all ask whether it is away.
    """
    settings = connections["default"].settings_dict
    host, port = settings["HOST"] or "the local socket", settings["PORT"] or 5432
    return Server("PostgreSQL", f"{host}:{port}", _ask, _explain)


def _ask() -> None:
    """Have the server answer on a new connection.

    Raises:
        OperationalError: It does not.
        TimeoutError: It has said nothing.
    """
    parameters = connections["default"].get_connection_params()
    try:
        with psycopg.connect(**parameters, autocommit=True) as connection:
            connection.execute("SELECT 1")
    except psycopg.errors.ConnectionTimeout as error:
        raise TimeoutError(str(error)) from error
    except psycopg.OperationalError as error:
        if not any(words in str(error) for words in _FULL):
            raise


def _explain(error: BaseException) -> str:
    text = str(error)
    return next((words for part, words in _WORDS.items() if part in text), "no connection")
