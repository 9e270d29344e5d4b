"""Connections to PostgreSQL that notice when the server is lost, or silent for another reason than work."""

import json
import re
import time
from collections.abc import Callable, Generator, Mapping
from functools import cache
from typing import Any, Final

import psycopg
from django.db import connections
from psycopg import pq, waiting
from typing_extensions import override

from chaindb.locks import BUSY_SECONDS
from chaindb.servers import SILENCE, Server, ServerAway

_BEAT: Final = 0.1
"""Seconds after which a wait looks at the clock."""

SESSION: Final = {
    # A block commits in far less. They end transactions that would hold a lock forever.
    "statement_timeout": "60000",
    "lock_timeout": f"{round(1000 * BUSY_SECONDS)}",
    "idle_in_transaction_session_timeout": "60000",
    # The server drops a connection whose client is gone, and with it the locks that it holds.
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
}
"""Parameters of each session. They are set by a statement, because poolers refuse `options` at the login."""
_SET: Final = """
SELECT set_config(name, (%s::jsonb)->>name, false) FROM pg_settings
WHERE name = ANY(%s) AND source <> 'client'
"""
"""Parameters that the operator sets by `options` in NODE_DATABASE_URL keep their values."""

# A login that fails has no SQLSTATE, so it is recognised by the server's words, of which libpq gives no others.
# They are English unless `lc_messages` says otherwise; unrecognised messages are quoted.
_CAUSES: Final = (
    (re.compile(r"the database system is "), "it is starting up or shutting down"),
    (re.compile(r"password authentication failed"), "it refuses this node's password"),
    (re.compile(r'(database|role) ".*" does not exist'), "it has no such database or user"),
    (re.compile(r"onnection refused"), "connection refused"),
    (re.compile(r"failed to resolve host|could not translate host name"), "its name is unknown"),
)
_PREFIX: Final = re.compile(r'connection (?:to server )?(?:at|on socket) "[^"]*"[^:]* failed: ')
"""What libpq begins a message with: the address, which is known."""
_MAX_MESSAGE: Final = 400
_FULL: Final = (
    "too many connections",
    "too many clients",
    "connection slots",
    "connections allowed",
)
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


def set_parameters(connection: psycopg.Connection[Any]) -> None:
    """Set the parameters of a new session."""
    connection.execute(_SET, [json.dumps(SESSION), list(SESSION)])


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
    return Server("PostgreSQL", address(connections["default"].settings_dict), _ask, _explain)


def address(settings: Mapping[str, Any]) -> str:
    """Return where an entry of DATABASES finds its server: hosts with ports, or directories of sockets."""
    hosts = str(settings["HOST"] or settings["OPTIONS"].get("hostaddr", "")).split(",")
    ports = str(settings["PORT"]).split(",")
    if len(ports) == 1:
        ports *= len(hosts)
    return ",".join(_place(*place) for place in zip(hosts, ports, strict=False))


def _place(host: str, port: str) -> str:
    if not host:
        host = "the local socket"
    elif host.startswith("/"):
        return f"{host}/.s.PGSQL.{port or 5432}"
    return f"{f'[{host}]' if ':' in host else host}:{port or 5432}"


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
    text = " ".join(str(error).split())
    cause = next((words for pattern, words in _CAUSES if pattern.search(text)), "")
    return cause or _PREFIX.sub("", text)[:_MAX_MESSAGE] or "no connection"
