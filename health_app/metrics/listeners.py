"""Listens to Django and Celery: statements and connections of the database, and background tasks.

django-prometheus has wrappers of the database backends for the former; on SQLite they make a statement
two and a half times as long. Here it is a function among Django's own `execute_wrappers`, for less than
two microseconds.
"""

import time
from collections.abc import Callable
from typing import Any, Final

from celery import signals
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from health_app.metrics.process import LONG_BOUNDS, ProcessMetrics
from health_app.metrics.sharing import Alone, Shared
from health_app.writing import Writes

_WORDS: Final = {
    "SELECT": "select", "WITH": "select", "INSERT": "insert", "UPDATE": "update",
    "DELETE": "delete", "SAVEPO": "savepoint", "RELEAS": "savepoint", "ROLLBA": "savepoint",
    "PRAGMA": "pragma", "COPY": "copy", "BEGIN": "begin", "BEGIN ": "begin",
}  # fmt: skip
OTHER: Final = "other"

SUCCESS: Final = "SUCCESS"
"""Celery's state of a task that did what it should."""

Execute = Callable[[Any, Any, bool, dict[str, Any]], Any]


class StatementListener:
    """Times each statement of the database, by its first word, and counts connections."""

    def __init__(self, process: ProcessMetrics) -> None:
        self._process = process
        self.wrapper: Final = _timed(process)

    def connect(self) -> None:
        """Begin to count: for every connection that this process opens, and for this thread's."""
        connection_created.connect(self._watch, dispatch_uid="metrics", weak=False)
        for connection in connections.all(initialized_only=True):
            self._install(connection)

    def _watch(self, connection: BaseDatabaseWrapper, **_: Any) -> None:
        self._process.instruments.counter("database_connections_opened").inc()
        self._install(connection)

    def _install(self, connection: BaseDatabaseWrapper) -> None:
        # First, since whoever adds one for a while takes the last one out.
        if self.wrapper not in connection.execute_wrappers:
            connection.execute_wrappers.insert(0, self.wrapper)


class TaskListener:
    """Counts Celery's tasks by its signals: durations, how they ended, what runs now.

    What they could not write is told to health: they make the blocks.
    """

    def __init__(self, process: ProcessMetrics, processes: Alone | Shared, writes: Writes) -> None:
        self._process = process
        self._processes = processes
        self._writes = writes
        self._began: Final[dict[str, float]] = {}
        """By the task's ID, by the monotonic clock."""

    def connect(self) -> None:
        """Begin to count the tasks that this process runs."""
        signals.task_prerun.connect(self.begin, weak=False, dispatch_uid="metrics")
        signals.task_postrun.connect(self.end, weak=False, dispatch_uid="metrics")
        signals.task_failure.connect(self.fail, weak=False, dispatch_uid="metrics")

    def begin(self, task_id: str, **_: Any) -> None:
        """Hear that a task begins."""
        # Here and not when the worker starts: a pool of processes is forked after that.
        self._processes.start()
        self._began[task_id] = time.monotonic()
        self._process.instruments.gauge("celery_tasks_running").inc()

    def end(self, task_id: str, task: Any, state: str | None = None, **_: Any) -> None:
        """Hear that a task has ended, in one of Celery's states."""
        began = self._began.pop(task_id, None)
        if began is None:
            return
        name, show = task.name, self._process.instruments
        show.gauge("celery_tasks_running").dec()
        took = show.histogram("celery_task_duration_seconds", LONG_BOUNDS, task=name)
        took.observe(time.monotonic() - began)
        outcome = (state or SUCCESS).lower()
        show.counter("celery_tasks", task=name, outcome=outcome).inc()
        ended = show.gauge("celery_task_last_ended_timestamp_seconds", mode="max", task=name)
        ended.set_to_current_time()

    def fail(self, exception: BaseException, **_: Any) -> None:
        """Hear why a task failed."""
        self._writes.failed(exception)


def statement_of(sql: Any) -> str:
    """Return what is known of a statement: its first word, in small letters."""
    if not isinstance(sql, str):
        return OTHER
    word = sql[:6] if sql[:1] > " " else sql.lstrip()[:6]
    return _WORDS.get(word) or _WORDS.get(word.upper().split(" ")[0], OTHER)


def _timed(process: ProcessMetrics) -> Callable[[Execute, Any, Any, bool, dict[str, Any]], Any]:
    """Return a wrapper in Django's form that has at hand all that it needs."""
    observe, clock, known = process.statements.observe, time.monotonic, statement_of

    def timed(execute: Execute, sql: Any, params: Any, many: bool, context: dict[str, Any]) -> Any:  # noqa: FBT001  # Django's form
        started = clock()
        error = ""
        try:
            return execute(sql, params, many, context)
        except Exception as failure:
            error = type(failure).__name__
            raise
        finally:
            observe(known(sql), clock() - started, error)

    return timed
