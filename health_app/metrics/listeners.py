"""Listeners for Django and Celery: database statements and connections, and background tasks.

django-prometheus wraps the database backends for statements; on SQLite that makes a statement take two and a half
times as long. Here a function in Django's `execute_wrappers` does it in less than two microseconds.
"""

import time
from collections.abc import Callable
from typing import Any, Final

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from health_app.metrics.process import LONG_BOUNDS, ProcessMetrics
from health_app.metrics.sharing import SharedProcesses, SingleProcess
from health_app.writing import Writes

_WORDS: Final = {
    "SELECT": "select", "WITH": "select", "INSERT": "insert", "UPDATE": "update",
    "DELETE": "delete", "SAVEPO": "savepoint", "RELEAS": "savepoint", "ROLLBA": "savepoint",
    "PRAGMA": "pragma", "COPY": "copy", "BEGIN": "begin", "BEGIN ": "begin",
}  # fmt: skip
OTHER: Final = "other"

SUCCESS: Final = "SUCCESS"
"""Celery's state of a task that succeeded."""

Execute = Callable[[Any, Any, bool, dict[str, Any]], Any]


class StatementListener:
    """Times each database statement by its first word, and counts connections."""

    def __init__(self, process: ProcessMetrics) -> None:
        self._process = process
        self.wrapper: Final = _timed(process)

    def connect(self) -> None:
        """Start counting on this thread's connection and on every connection that this process opens later."""
        connection_created.connect(self._watch, dispatch_uid="metrics", weak=False)
        for connection in connections.all(initialized_only=True):
            self._install(connection)

    def _watch(self, connection: BaseDatabaseWrapper, **_: Any) -> None:
        self._process.instruments.counter("database_connections_opened").inc()
        self._install(connection)

    def _install(self, connection: BaseDatabaseWrapper) -> None:
        # At the start of the list, because Django removes the last wrapper when a temporary one ends.
        if self.wrapper not in connection.execute_wrappers:
            connection.execute_wrappers.insert(0, self.wrapper)


class TaskListener:
    """Counts Celery's tasks by their signals: durations, outcomes, and the number in progress.

    Write errors of tasks are passed on to the health checks, because tasks make the blocks.
    """

    def __init__(
        self, process: ProcessMetrics, processes: SingleProcess | SharedProcesses, writes: Writes
    ) -> None:
        self._process = process
        self._processes = processes
        self._writes = writes
        self._began: Final[dict[str, float]] = {}
        """Start times of the monotonic clock by task ID."""

    def connect(self) -> None:
        """Start counting the tasks that this process runs. Only such a process imports Celery."""
        from celery import signals

        signals.task_prerun.connect(self.begin, weak=False, dispatch_uid="metrics")
        signals.task_postrun.connect(self.end, weak=False, dispatch_uid="metrics")
        signals.task_failure.connect(self.fail, weak=False, dispatch_uid="metrics")

    def begin(self, task_id: str, **_: Any) -> None:
        """Handle the start of a task."""
        # Here and not when the worker starts, because its pool of processes is forked later.
        self._processes.start()
        self._began[task_id] = time.monotonic()
        self._process.instruments.gauge("celery_tasks_running").inc()

    def end(self, task_id: str, task: Any, state: str | None = None, **_: Any) -> None:
        """Handle the end of a task, in one of Celery's states."""
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
        """Handle the failure of a task."""
        self._writes.failed(exception)


def statement_of(sql: Any) -> str:
    """Return the kind of a statement: its first word in lower case."""
    if not isinstance(sql, str):
        return OTHER
    word = sql[:6] if sql[:1] > " " else sql.lstrip()[:6]
    return _WORDS.get(word) or _WORDS.get(word.upper().split(" ")[0], OTHER)


def _timed(process: ProcessMetrics) -> Callable[[Execute, Any, Any, bool, dict[str, Any]], Any]:
    """Return an `execute_wrappers` function whose helpers are local variables, for speed."""
    observe, clock, statement = process.statements.observe, time.monotonic, statement_of

    def timed(execute: Execute, sql: Any, params: Any, many: bool, context: dict[str, Any]) -> Any:  # noqa: FBT001  # Django's form
        started = clock()
        error = ""
        try:
            return execute(sql, params, many, context)
        except Exception as failure:
            error = type(failure).__name__
            raise
        finally:
            observe(statement(sql), clock() - started, error)

    return timed
