"""PostgreSQL connections that notice when the server is lost, or silent for any reason but work."""

import json
import re
import time
from collections.abc import Callable, Generator, Mapping
from functools import cache, partial
from typing import Any, ClassVar, Final

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from psycopg import pq, waiting
from typing_extensions import override

from chaindb.locks import BUSY_SECONDS
from chaindb.servers import SILENCE, ServerAway, WatchedServer

SERVER: Final = "SERVER"
"""Key in an entry of DATABASES: the alias by which `server_of` knows the server; without it, the node's own server."""

_TICK: Final = 0.1
"""Seconds after which a wait checks the clock."""

SESSION: Final = {
    # A block commits in far less. These end transactions that would hold a lock forever.
    "statement_timeout": "60000",
    "lock_timeout": f"{round(1000 * BUSY_SECONDS)}",
    "idle_in_transaction_session_timeout": "60000",
    # The server drops a connection whose client is gone, and with it the locks that it holds.
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
    # New tables have no statistics, so short queries look expensive: compiling them took half of the time of a block.
    "jit": "off",
}
"""Parameters of each session. A statement sets them, because poolers reject `options` at login."""
_SET: Final = """
SELECT set_config(name, (%s::jsonb)->>name, false) FROM pg_settings
WHERE name = ANY(%s) AND source <> 'client'
"""
"""Parameters that the operator sets by `options` in NODE_DATABASE_URL keep their values."""

# A failed login has no SQLSTATE in libpq, so the cause is recognised by the server's message. Messages
# are in English unless `lc_messages` says otherwise; unrecognised messages are quoted.
_CAUSES: Final = (
    (re.compile(r"the database system is "), "it is starting up or shutting down"),
    (re.compile(r"password authentication failed"), "it refuses this node's password"),
    (re.compile(r'(database|role) ".*" does not exist'), "it has no such database or user"),
    (re.compile(r"onnection refused"), "connection refused"),
    (re.compile(r"failed to resolve host|could not translate host name"), "its name is unknown"),
)
_PREFIX: Final = re.compile(r'connection (?:to server )?(?:at|on socket) "[^"]*"[^:]* failed: ')
"""Prefix of libpq's messages: the address, which is already known."""
_MAX_MESSAGE: Final = 400
_FULL: Final = (
    "too many connections",
    "too many clients",
    "connection slots",
    "connections allowed",
)
"""The server answers, but has no free connection slot; existing connections continue to work."""


class PostgresqlAway(ServerAway, psycopg.OperationalError):
    """PostgreSQL does not answer."""


class WatchedConnection(psycopg.Connection[Any]):
    """A connection whose waits end when the server is no longer alive."""

    server_alias: ClassVar[str] = DEFAULT_DB_ALIAS
    """Django's alias of the server's first database, by which `server_of` knows the server."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._answered = time.monotonic()

    def answered_within(self, seconds: float) -> bool:
        """Return whether the connection is open and the server answered within the last seconds."""
        return not self.closed and time.monotonic() - self._answered < seconds

    def _data_received(self) -> None:
        self._answered = time.monotonic()
        server_of(self.server_alias).heard()

    @override
    def wait(
        self, gen: Generator[Any, Any, Any], interval: float = _TICK, timeout: float | None = None
    ) -> Any:
        try:
            alive = _while_alive(gen, self._data_received, server_of(self.server_alias))
            return super().wait(alive, interval, timeout)
        except PostgresqlAway:
            self.close()  # it is unknown which statements the server has run
            raise
        except psycopg.OperationalError as error:
            lost = self.pgconn.status != pq.ConnStatus.OK
            if lost and (outage := server_of(self.server_alias).suspect(error)):
                raise PostgresqlAway(outage) from error
            raise


def connection_class(server_alias: str) -> type[WatchedConnection]:
    """Return the class of connections to the server of an alias."""
    return type("WatchedConnection", (WatchedConnection,), {"server_alias": server_alias})


def set_parameters(connection: psycopg.Connection[Any]) -> None:
    """Set the parameters of a new session."""
    connection.execute(_SET, [json.dumps(SESSION), list(SESSION)])


def _while_alive(
    gen: Generator[Any, Any, Any], heard: Callable[[], object], watched: WatchedServer
) -> Generator[Any, Any, Any]:
    """Run a wait, and end it when the server is silent and found to be away.

    Passes on the values that the wait yields and is sent.

    Args:
        gen: The wait.
        heard: Called when data has arrived.
        watched: The server.
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
                silent_since = silent_since or now - _TICK  # the silence has lasted one tick
                if now - silent_since >= SILENCE and (outage := watched.suspect()):
                    raise PostgresqlAway(outage)
            read = bool(ready & waiting.Ready.R)
            state = gen.send(ready)
            if read:  # and not because the connection ended, which raises
                heard()
    except StopIteration as stop:
        if read:
            heard()
        return stop.value


def server() -> WatchedServer:
    """Return the server of the node's own database."""
    return server_of(DEFAULT_DB_ALIAS)


@cache
def server_of(alias: str) -> WatchedServer:
    """Return the database server of an alias: the node's own, or a replica.

    The process has one object for each server, because Django opens a connection for each thread, and all of them
    share the record of an outage.
    """
    is_own = alias == DEFAULT_DB_ALIAS
    return WatchedServer(
        "PostgreSQL" if is_own else "PostgreSQL replica",
        address(connections[alias].settings_dict),
        partial(_ask, alias),
        _explain,
        is_needed=is_own,
    )


def address(settings: Mapping[str, Any]) -> str:
    """Return the address of the server in an entry of DATABASES: hosts with ports, or socket paths."""
    hosts = str(settings["HOST"] or settings["OPTIONS"].get("hostaddr", "")).split(",")
    ports = str(settings["PORT"]).split(",")
    if len(ports) == 1:
        ports *= len(hosts)
    return ",".join(_host_address(*pair) for pair in zip(hosts, ports, strict=False))


def _host_address(host: str, port: str) -> str:
    if not host:
        host = "the local socket"
    elif host.startswith("/"):
        return f"{host}/.s.PGSQL.{port or 5432}"
    return f"{f'[{host}]' if ':' in host else host}:{port or 5432}"


def _ask(alias: str) -> None:
    """Check on a new connection that the server answers.

    Raises:
        OperationalError: The server refuses the connection or the query.
        TimeoutError: The server did not answer.
    """
    parameters = connections[alias].get_connection_params()
    try:
        with psycopg.connect(**parameters, autocommit=True) as connection:
            connection.execute("SELECT 1")
    except psycopg.errors.ConnectionTimeout as error:
        raise TimeoutError(str(error)) from error
    except psycopg.OperationalError as error:
        if not any(phrase in str(error) for phrase in _FULL):
            raise


def _explain(error: BaseException) -> str:
    text = " ".join(str(error).split())
    cause = next((reason for pattern, reason in _CAUSES if pattern.search(text)), "")
    return cause or _PREFIX.sub("", text)[:_MAX_MESSAGE] or "no connection"
