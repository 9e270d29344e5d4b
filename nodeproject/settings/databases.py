"""The database of a profile, with the manners that chain data needs."""

import re
import sys
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from chaindb.locks import BUSY_SECONDS
from nodeproject.settings.flags import BadSetting
from nodeproject.settings.node import NodeSettings

_SQLITE: Final = "sqlite:///"
_MAX_PORT: Final = 65_535
_PARAMETER: Final = re.compile(r'[ a-z/"=]*URI query parameter: "[a-z_]+"')
"""libpq's messages about a parameter. Its other messages may quote the password."""


def database(node: NodeSettings) -> dict[str, Any]:
    """Return the entry of DATABASES for these settings: SQLite or PostgreSQL.

    Raises:
        BadSetting: NODE_DATABASE_URL cannot be read, or has a parameter that would have no effect.
    """
    url = node.database_url
    if not url:
        return sqlite(node.directory / "node.sqlite3", node)
    if url.startswith(_SQLITE):
        return _sqlite_of(url, node)
    if not is_postgresql(url):
        raise _bad_url()
    return _postgresql(url, node)


def is_postgresql(url: str) -> bool:
    """Return whether a URL names a PostgreSQL server."""
    return url.startswith(("postgres://", "postgresql://"))


def _bad_url(reason: str = "") -> BadSetting:
    """Return the refusal. It never repeats the URL, which may hold a password.

    Args:
        reason: The fault, if it can be described without a part of the URL that may be secret.
    """
    detail = f": {reason}" if reason else ""
    return BadSetting(
        f"NODE_DATABASE_URL cannot be read{detail}; it must be postgres://USER:PASSWORD@HOST:PORT/NAME or "
        "sqlite:///PATH"
    )


def _sqlite_of(url: str, node: NodeSettings) -> dict[str, Any]:
    path, _, query = url.removeprefix(_SQLITE).partition("?")
    if not path:
        raise _bad_url("the path is missing")
    if query:
        raise _bad_url(f"SQLite takes no parameters ({query.partition('=')[0]})")
    return sqlite(Path(unquote(path)), node)


def sqlite(path: Path, node: NodeSettings) -> dict[str, Any]:
    """Return the entry of DATABASES for a SQLite file."""
    entry: dict[str, Any] = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(path)}
    return _with_manners(entry, node)


_LOG_PAGES: Final = 16_000
"""Pages of the log after which who commits writes them to the file: a serving node does so before (`chaindb.checkpoints`)."""
_DIRTY_PAGES: Final = 4_000
"""Pages that a transaction changes before any of them is written."""
_CACHED_PAGES: Final = 500
"""Pages that a connection keeps besides: of the log, since the file's are mapped. Others' commits make them useless."""


def _with_manners(entry: dict[str, Any], node: NodeSettings) -> dict[str, Any]:
    pragmas = (
        "PRAGMA journal_mode=WAL",
        f"PRAGMA synchronous={node.sqlite_synchronous}",
        f"PRAGMA cache_size={_CACHED_PAGES}",
        f"PRAGMA cache_spill={_DIRTY_PAGES}",
        "PRAGMA mmap_size=268435456",
        "PRAGMA temp_store=MEMORY",
        f"PRAGMA wal_autocheckpoint={_LOG_PAGES}",
    )
    # Opening a file anew for each request would cost more than what most requests ask of it.
    entry["CONN_MAX_AGE"] = None
    # IMMEDIATE: a transaction that will write waits for the lock at its start. Taking it later
    # fails at once when another one has written meanwhile, whatever the time-out.
    entry["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": BUSY_SECONDS,
        "init_command": ";".join(pragmas),
    }
    return entry


def _postgresql(url: str, node: NodeSettings) -> dict[str, Any]:
    from chaindb.postgresql.session import Connection  # SQLite needs no driver of PostgreSQL
    from chaindb.servers import SILENCE

    parameters = _libpq_parameters(url)
    entry: dict[str, Any] = {
        "ENGINE": "chaindb.postgresql",
        "NAME": parameters.pop("dbname", ""),
        "USER": parameters.pop("user", ""),
        "PASSWORD": parameters.pop("password", ""),
        "HOST": parameters.pop("host", ""),
        "PORT": parameters.pop("port", ""),
    }
    # A pool, because persistent connections of many threads exhaust the server's connections. The
    # pool gives up soon and tries to connect only while a thread waits: `chaindb.servers` finds out
    # whether the pool is busy or the server is away, and its time comes on top.
    pool = {
        "min_size": 1,
        "max_size": node.database_pool,
        "timeout": SILENCE,
        "reconnect_timeout": 1,
        "connection_class": Connection,
    }
    # The backend checks a pooled connection unless it has just answered.
    entry["OPTIONS"] = {
        "pool": pool,
        # Only statements that ask for it are prepared (`chaindb.postgresql.base`), none for being frequent.
        "prepare_threshold": sys.maxsize,
        "connect_timeout": 2,
        # The client drops a connection whose server is gone; `chaindb.postgresql.session` has the server's side.
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 3,
        "tcp_user_timeout": 10_000,
        **parameters,
    }
    return entry


def _libpq_parameters(url: str) -> dict[str, Any]:
    """Return the connection parameters of a URL, by libpq's names and as libpq reads them.

    Raises:
        BadSetting: libpq cannot read it, or it has a parameter that the node cannot honour.
    """
    import psycopg  # as above
    from psycopg.conninfo import conninfo_to_dict

    try:
        parameters = conninfo_to_dict(url)
    except psycopg.Error as error:
        named = _PARAMETER.fullmatch(" ".join(str(error).split()))
        raise _bad_url(named[0] if named else "") from None
    if not parameters.get("dbname") and not parameters.get("service"):
        raise _bad_url("the name of the database is missing")
    if "@" in str(parameters.get("host", "")):
        raise _bad_url("an @ in the user's name or password is written as %40")
    _verify_ports(str(parameters.get("port", "")))
    if "connect_timeout" in parameters:
        parameters["connect_timeout"] = _seconds(str(parameters["connect_timeout"]))
    encoding = str(parameters.pop("client_encoding", "utf8"))
    if encoding.replace("-", "").casefold() != "utf8":
        raise _bad_url("client_encoding must be UTF8")
    if "replication" in parameters:
        raise _bad_url("the parameter replication is not supported")
    return parameters


def _verify_ports(ports: str) -> None:
    """Raise BadSetting unless each port of a list, one for each host, is empty or a number."""
    for port in ports.split(","):
        if port and not (port.isascii() and port.isdecimal() and 0 < int(port) <= _MAX_PORT):
            raise _bad_url("a port must be a number from 1 to 65535")


def _seconds(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise _bad_url("connect_timeout must be a whole number of seconds") from None
