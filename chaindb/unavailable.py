"""Reasons why a database or another server is temporarily unavailable, so that a request may be retried.

Clients get the reason with -32000 over JSON-RPC and with 503 over HTTP. The log has one line a minute
for each reason.
"""

import errno
from collections.abc import Iterator
from typing import Final

from chaindb.servers import ServerAway
from primitives.fair_lock import WaitedTooLong

BUSY: Final = "the database is busy"
_FULL: Final = "its disk is full"

_BUSY: Final = (
    "SQLITE_BUSY",
    "SQLITE_LOCKED",
    "55P03",  # a lock was not available in time
    "57014",  # a statement took too long
    "40001",  # transactions cannot be serialised
    "40P01",  # a deadlock
    "53300",  # too many connections
)
"""SQLite's error names, or prefixes of them, and SQLSTATEs."""

_REFUSALS: Final = {
    "SQLITE_FULL": _FULL,
    "SQLITE_READONLY": "it is read-only",
    "SQLITE_IOERR": "its disk fails",
    "SQLITE_CANTOPEN": "its file cannot be opened",
    "SQLITE_CORRUPT": "its file is damaged",
    "SQLITE_NOTADB": "its file is damaged",
    "53100": _FULL,
    "25006": "it is read-only",
    "42501": "it does not let this node write",
    "58030": "its disk fails",
}
"""Reasons by such a code. The databases' own messages contain paths."""

_LOST: Final = ("08", "57P0")
"""Prefixes of the SQLSTATEs of connections that failed or that the server ended. A server that just
disappeared gives no SQLSTATE."""

_DEPTH: Final = 8
"""Causes of an exception that are examined."""


def refusal(error: BaseException) -> str:
    """Return why the database rejected a write; empty if the error has another cause."""
    code = _code(error)
    reasons = (reason for start, reason in _REFUSALS.items() if code.startswith(start))
    return next(reasons, "")


def unavailable(error: BaseException | None) -> str:
    """Return why a request cannot be served at the moment; empty if the exception has another cause."""
    for cause in _causes(error):
        if isinstance(cause, ServerAway):
            return str(cause)
        if (
            isinstance(cause, WaitedTooLong)
            or _code(cause).startswith(_BUSY)
            or _waits_for_pool(cause)
        ):
            return BUSY
        if server := _lost(cause):
            return f"the connection to {server} was lost"
        if reason := refusal(cause):
            return f"the database takes no writes: {reason}"
        if isinstance(cause, OSError) and cause.errno in {errno.ENOSPC, errno.EDQUOT}:
            return "the disk is full"
    return ""


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    for _ in range(_DEPTH):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def _code(error: BaseException) -> str:
    """Return the error code of the database driver. For Django's errors it is the code of their cause."""
    cause = error.__cause__ or error
    return str(getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None) or "")


def _lost(error: BaseException) -> str:
    """Return the server to which a connection was lost, if that is the error."""
    # Compared by name, because a node on SQLite does not import the drivers of the servers.
    names = {
        f"{class_.__module__.partition('.')[0]}.{class_.__name__}" for class_ in type(error).__mro__
    }
    code = getattr(error, "sqlstate", None)
    if "psycopg.OperationalError" in names and (code is None or code.startswith(_LOST)):
        return "PostgreSQL"
    return "Redis" if names & {"redis.ConnectionError", "redis.TimeoutError"} else ""


def _waits_for_pool(error: BaseException) -> bool:
    """Return whether a wait for a free connection of PostgreSQL's pool timed out."""
    return type(error).__module__.startswith("psycopg_pool") and type(error).__name__ in {
        "PoolTimeout",
        "TooManyRequests",
    }
