"""The database entry of a profile, with the options that chain data need."""

import re
import sys
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from django.db import DEFAULT_DB_ALIAS

from chaindb.locks import BUSY_SECONDS
from chaindb.replicas import ALIAS
from nodeproject.settings.flags import BadSetting
from nodeproject.settings.node import NodeSettings

_OWN: Final = "NODE_DATABASE_URL"
_OF_REPLICAS: Final = "NODE_DATABASE_REPLICA_URLS"
_SQLITE: Final = "sqlite:///"
_MAX_PORT: Final = 65_535
_PARAMETER: Final = re.compile(r'[ a-z/"=]*URI query parameter: "[a-z_]+"')
"""libpq's messages about a parameter. Its other messages may quote the password."""


def database(node: NodeSettings) -> dict[str, Any]:
    """Return the entry of DATABASES for these settings: SQLite or PostgreSQL.

    Raises:
        BadSetting: NODE_DATABASE_URL cannot be parsed, or has a parameter that would have no effect.
    """
    url = node.database_url
    if not url:
        return sqlite(node.common.directory / "node.sqlite3", node)
    if url.startswith(_SQLITE):
        return _sqlite_of(url, node)
    if not is_postgresql(url):
        raise _bad_url()
    return _postgresql(url, node)


def replicas(node: NodeSettings) -> dict[str, dict[str, Any]]:
    """Return the entries of DATABASES for the read replicas, by alias: `replica_1` and so on.

    Raises:
        BadSetting: An item of NODE_DATABASE_REPLICA_URLS cannot be parsed.
    """
    entries = {}
    for number, url in enumerate(node.database_replica_urls, start=1):
        if not is_postgresql(url):
            raise _bad_url(variable=_OF_REPLICAS)
        alias = f"{ALIAS}{number}"
        entries[alias] = _postgresql(url, node, alias)
    return entries


def is_postgresql(url: str) -> bool:
    """Return whether a URL names a PostgreSQL server."""
    return url.startswith(("postgres://", "postgresql://"))


def _bad_url(reason: str = "", variable: str = _OWN) -> BadSetting:
    """Return the error for an invalid URL. It never repeats the URL, which may contain a password.

    Args:
        reason: The problem, if it can be described without a part of the URL that may be secret.
        variable: The setting.
    """
    detail = f": {reason}" if reason else ""
    other = " or sqlite:///PATH" if variable == _OWN else ""
    return BadSetting(
        f"{variable} cannot be read{detail}; it must be postgres://USER:PASSWORD@HOST:PORT/NAME{other}"
    )


def _sqlite_of(url: str, node: NodeSettings) -> dict[str, Any]:
    path, _, query = url.removeprefix(_SQLITE).partition("?")
    if not path:
        raise _bad_url("the path is missing")
    if query:
        raise _bad_url(f"SQLite takes no parameters ({query.partition('=')[0]})")
    return sqlite(Path(unquote(path)), node)


def sqlite(
    path: Path, node: NodeSettings, *, log_pages: int = 0, is_mapped: bool = True
) -> dict[str, Any]:
    """Return the entry of DATABASES for a SQLite file.

    Args:
        path: The file.
        node: The node's settings.
        log_pages: Pages of the log at which a commit triggers a checkpoint; 0: as for the node's own database.
        is_mapped: Whether connections map the file. Each mapping counts as memory of the process.
    """
    entry: dict[str, Any] = {"ENGINE": "chaindb.sqlite", "NAME": str(path)}
    return _with_manners(entry, node, log_pages or _LOG_PAGES, is_mapped=is_mapped)


_LOG_PAGES: Final = 16_000
"""Pages of the log at which a commit triggers a checkpoint; a serving node does it earlier (`chaindb.checkpoints`)."""
_DIRTY_PAGES: Final = 4_000
"""Pages that a transaction may change before any of them is written."""
_CACHED_PAGES: Final = 500
"""Pages in a connection's cache: only those of the log, as the file is mapped. Other connections' commits invalidate them."""


_MAPPED_BYTES: Final = 256 << 20
"""Bytes of a file that a connection maps."""


def _with_manners(
    entry: dict[str, Any], node: NodeSettings, log_pages: int, *, is_mapped: bool
) -> dict[str, Any]:
    pragmas = (
        "PRAGMA journal_mode=WAL",
        f"PRAGMA synchronous={node.sqlite_synchronous}",
        f"PRAGMA cache_size={_CACHED_PAGES}",
        f"PRAGMA cache_spill={_DIRTY_PAGES}",
        f"PRAGMA mmap_size={_MAPPED_BYTES if is_mapped else 0}",
        "PRAGMA temp_store=MEMORY",
        f"PRAGMA wal_autocheckpoint={log_pages}",
    )
    # Opening the file again for each request would cost more than most requests need.
    entry["CONN_MAX_AGE"] = None
    # IMMEDIATE: a transaction that will write waits for the lock at its start. Taking the lock later
    # fails immediately if another transaction has written in the meantime, whatever the timeout.
    entry["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": BUSY_SECONDS,
        "init_command": ";".join(pragmas),
    }
    return entry


def _postgresql(url: str, node: NodeSettings, server: str = DEFAULT_DB_ALIAS) -> dict[str, Any]:
    from chaindb.postgresql.session import (  # SQLite needs no PostgreSQL driver
        SERVER,
        connection_class,
    )
    from chaindb.servers import SILENCE

    variable = _OWN if server == DEFAULT_DB_ALIAS else _OF_REPLICAS
    parameters = _libpq_parameters(url, variable)
    entry: dict[str, Any] = {
        "ENGINE": "chaindb.postgresql",
        "NAME": parameters.pop("dbname", ""),
        "USER": parameters.pop("user", ""),
        "PASSWORD": parameters.pop("password", ""),
        "HOST": parameters.pop("host", ""),
        "PORT": parameters.pop("port", ""),
        SERVER: server,
    }
    # A pool, because persistent connections of many threads exhaust the server's connections. The
    # pool gives up soon and only tries to connect while a thread waits: `chaindb.servers` finds out
    # whether the pool is busy or the server is unavailable, which takes additional time.
    pool = {
        "min_size": 1,
        "max_size": node.database_pool,
        "timeout": SILENCE,
        "reconnect_timeout": 1,
        "connection_class": connection_class(server),
    }
    # The backend checks a pooled connection unless the connection was used recently.
    entry["OPTIONS"] = {
        "pool": pool,
        # Only statements that request it are prepared (`chaindb.postgresql.base`), regardless of their frequency.
        "prepare_threshold": sys.maxsize,
        "connect_timeout": 2,
        # The client drops connections of a dead server; `chaindb.postgresql.session` sets the server's side.
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 3,
        "tcp_user_timeout": 10_000,
        **parameters,
    }
    return entry


def _libpq_parameters(url: str, variable: str) -> dict[str, Any]:
    """Return the connection parameters of a URL, by libpq's names and as parsed by libpq.

    Raises:
        BadSetting: libpq cannot parse the URL, or it has a parameter that the node cannot honour.
    """
    import psycopg  # as above
    from psycopg.conninfo import conninfo_to_dict

    try:
        parameters = conninfo_to_dict(url)
    except psycopg.Error as error:
        named = _PARAMETER.fullmatch(" ".join(str(error).split()))
        raise _bad_url(named[0] if named else "", variable) from None
    if not parameters.get("dbname") and not parameters.get("service"):
        raise _bad_url("the name of the database is missing", variable)
    if "@" in str(parameters.get("host", "")):
        raise _bad_url("an @ in the user's name or password is written as %40", variable)
    _verify_ports(str(parameters.get("port", "")), variable)
    if "connect_timeout" in parameters:
        parameters["connect_timeout"] = _seconds(str(parameters["connect_timeout"]), variable)
    encoding = str(parameters.pop("client_encoding", "utf8"))
    if encoding.replace("-", "").casefold() != "utf8":
        raise _bad_url("client_encoding must be UTF8", variable)
    if "replication" in parameters:
        raise _bad_url("the parameter replication is not supported", variable)
    return parameters


def _verify_ports(ports: str, variable: str) -> None:
    """Raise BadSetting unless each port of a list, one for each host, is empty or a number."""
    for port in ports.split(","):
        if port and not (port.isascii() and port.isdecimal() and 0 < int(port) <= _MAX_PORT):
            raise _bad_url("a port must be a number from 1 to 65535", variable)


def _seconds(text: str, variable: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise _bad_url("connect_timeout must be a whole number of seconds", variable) from None
