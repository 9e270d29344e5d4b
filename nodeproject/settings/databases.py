"""The database of a profile, with the manners that chain data needs."""

import sys
from pathlib import Path
from typing import Any, Final

import environ
from django.core.exceptions import ImproperlyConfigured

from chaindb.locks import BUSY_SECONDS
from nodeproject.settings.flags import BadSetting
from nodeproject.settings.node import NodeSettings


def database(node: NodeSettings) -> dict[str, Any]:
    """Return the entry of DATABASES for these settings: SQLite or PostgreSQL."""
    url = node.database_url or f"sqlite:///{node.directory / 'node.sqlite3'}"
    if url.startswith("sqlite:///"):
        return _with_manners(environ.Env.db_url_config(url), node)
    if not is_postgresql(url):
        raise _bad_url()
    try:
        entry: dict[str, Any] = environ.Env.db_url_config(url)
    except (ValueError, ImproperlyConfigured):
        raise _bad_url() from None
    if not entry.get("NAME"):
        raise _bad_url()
    return _postgresql(entry, node)


def is_postgresql(url: str) -> bool:
    """Say whether a URL is of a PostgreSQL server."""
    return url.startswith(("postgres://", "postgresql://"))


def _bad_url() -> BadSetting:
    """Return the refusal; it does not repeat the URL, in which there may be a password."""
    return BadSetting(
        "NODE_DATABASE_URL cannot be read; it must be postgres://USER:PASSWORD@HOST:PORT/NAME or "
        "sqlite:///PATH"
    )


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


def _postgresql(entry: dict[str, Any], node: NodeSettings) -> dict[str, Any]:
    from chaindb.postgresql.session import Connection  # SQLite needs no driver of PostgreSQL
    from chaindb.servers import SILENCE

    # A pool, since persistent connections of many threads run a server out of connections. The
    # time-outs end what would hold a lock for ever; a block commits in far less.
    # The pool gives up soon, and tries to connect only as long as somebody asks: whether it is busy or
    # the server away, and when that is back, is found out by `chaindb.servers`: its time comes on top.
    entry["ENGINE"] = "chaindb.postgresql"
    # Whether one of the pool lives is asked by the backend, and not where it has just answered.
    entry["OPTIONS"] = {
        "pool": {
            "min_size": 1,
            "max_size": node.database_pool,
            "timeout": SILENCE,
            "reconnect_timeout": 1,
            "connection_class": Connection,
        },
        # Statements are prepared that say so (`chaindb.postgresql.base`), and none because it came often.
        "prepare_threshold": sys.maxsize,
        "connect_timeout": 2,
        # Either side drops a connection whose other end is gone, and with it the locks that it holds.
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 3,
        "tcp_user_timeout": 10_000,
        "options": f"-c statement_timeout=60000 -c lock_timeout={round(1000 * BUSY_SECONDS)}"
        " -c idle_in_transaction_session_timeout=60000"
        " -c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3",
    }
    return entry
