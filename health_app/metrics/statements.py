"""Times each statement of the database, for less than two microseconds.

django-prometheus has wrappers of the backends for that; on SQLite they make a statement two and a
half times as long, so here it is a function among Django's own `execute_wrappers`.
"""

import time
from collections.abc import Callable
from typing import Any, Final

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from health_app.metrics.sources import SOURCES

_WORDS: Final = {
    "SELECT": "select", "WITH": "select", "INSERT": "insert", "UPDATE": "update",
    "DELETE": "delete", "SAVEPO": "savepoint", "RELEAS": "savepoint", "ROLLBA": "savepoint",
    "PRAGMA": "pragma", "COPY": "copy", "BEGIN": "begin", "BEGIN ": "begin",
}  # fmt: skip
OTHER: Final = "other"

Execute = Callable[[Any, Any, bool, dict[str, Any]], Any]

_observe: Final = SOURCES.statements.observe
_clock: Final = time.monotonic


def connect() -> None:
    """Begin to count: for every connection that this process opens, and for this thread's."""
    connection_created.connect(_watch, dispatch_uid="metrics")
    for connection in connections.all(initialized_only=True):
        _install(connection)


def observe(execute: Execute, sql: Any, params: Any, many: bool, context: dict[str, Any]) -> Any:  # noqa: FBT001  # Django's form
    """Execute a statement and count it."""
    started = _clock()
    error = ""
    try:
        return execute(sql, params, many, context)
    except Exception as failure:
        error = type(failure).__name__
        raise
    finally:
        _observe(_statement(sql), _clock() - started, error)


def _statement(sql: Any) -> str:
    if not isinstance(sql, str):
        return OTHER
    word = sql[:6] if sql[:1] > " " else sql.lstrip()[:6]
    return _WORDS.get(word) or _WORDS.get(word.upper().split(" ")[0], OTHER)


def _watch(connection: BaseDatabaseWrapper, **_: Any) -> None:
    SOURCES.connections.observe("opened", 0.0)
    _install(connection)


def _install(connection: BaseDatabaseWrapper) -> None:
    # First, since whoever adds one for a while takes the last one out.
    if observe not in connection.execute_wrappers:
        connection.execute_wrappers.insert(0, observe)
