"""Counts Celery's tasks by its signals: durations, how they ended, what runs now.

What they could not write is told to health: they make the blocks.
"""

import time
from typing import Any, Final

from celery import signals

from health_app.metrics import shared
from health_app.metrics.sources import SOURCES
from health_app.writing import Writes

SUCCESS: Final = "SUCCESS"

_running: Final[dict[str, tuple[int, float]]] = {}
"""By the task's ID: its ticket, and when it began by the monotonic clock."""


def connect(writes: Writes) -> None:
    """Begin to count the tasks that this process runs; tell of those that failed."""

    def fail(exception: BaseException, **_: Any) -> None:
        writes.failed(exception)

    signals.task_prerun.connect(_begin, weak=False, dispatch_uid="metrics")
    signals.task_postrun.connect(_end, weak=False, dispatch_uid="metrics")
    signals.task_failure.connect(fail, weak=False, dispatch_uid="metrics")
    signals.worker_ready.connect(_enrol_worker, weak=False, dispatch_uid="metrics")


def _begin(task_id: str, task: Any, **_: Any) -> None:
    # Here and not when the worker starts: a pool of processes is forked after that.
    shared.start("worker")
    _running[task_id] = (SOURCES.tasks.running.begin(task.name), time.monotonic())


def _end(task_id: str, task: Any, state: str | None = None, **_: Any) -> None:
    known = _running.pop(task_id, None)
    if known is None:
        return
    ticket, started = known
    tasks = SOURCES.tasks
    tasks.running.end(ticket)
    failed = "" if state in {SUCCESS, None} else str(state).lower()
    tasks.durations.observe(task.name, time.monotonic() - started, failed)
    tasks.last_ended[task.name] = time.time()


def _enrol_worker(**_: Any) -> None:
    shared.enrol("worker")
