"""Celery's worker and beat as threads of the embedded profile's one process, and the beat schedulers of both profiles.

Celery's own schedulers wake ten milliseconds earlier and then poll until the task is due: a hundred times a second for a
schedule with tasks each second.
"""

import threading
import time
from typing import Any, Final

from celery import beat
from celery.worker import state
from django_celery_beat import schedulers
from typing_extensions import override

from nodeproject.celery import app
from nodeproject.processes.broker import Transport

_SCHEDULE_SECONDS: Final = 1.0
"""Seconds between checks whether the schedule in the database has changed."""


class Scheduler(beat.Scheduler):
    """The schedule in the settings, which is stored nowhere else."""

    @override
    def adjust(self, n: int, drift: float = 0.0) -> float:
        """Return the seconds to sleep, by default the full interval: `time.sleep` never returns early."""
        return super().adjust(n, drift)


class DatabaseScheduler(Scheduler, schedulers.DatabaseScheduler):  # type: ignore[misc]  # it has no types
    """The schedule in the database, which is not queried at every tick."""

    _looked_at = 0.0

    @override
    def schedule_changed(self) -> bool:
        """Return whether the schedule has changed; always False within a second of the last check."""
        now = time.monotonic()
        if now - self._looked_at < _SCHEDULE_SECONDS:
            return False
        self._looked_at = now
        return bool(super().schedule_changed())


QUEUES = ("chain", "default")
_END_SECONDS: Final = 0.05
"""Seconds between checks whether the worker has ended."""


class EmbeddedWorkers:
    """A worker that runs tasks one after the other, and the beat that sends them on schedule."""

    def __init__(self) -> None:
        self._worker: Any = app.WorkController(
            pool_cls="solo",
            concurrency=1,
            queues=",".join(QUEUES),
            hostname="embedded",
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
        )
        # The schedule is code and only this process runs it, so nothing needs to be stored.
        self._beat: Any = beat.EmbeddedService(app, thread=True, scheduler_cls=Scheduler)
        self._thread = threading.Thread(target=self._worker.start, name="celery", daemon=True)

    def start(self) -> None:
        """Start both threads."""
        self._thread.start()
        self._beat.daemon = True
        self._beat.start()

    def stop(self, timeout: float = 10.0) -> None:
        """Let the running task finish and end the worker's thread; the beat's thread ends with the process."""
        # The beat may sleep until its next message is due, so do not wait for it.
        self._beat.service.stop(wait=False)
        state.should_stop = 0  # type: ignore[assignment]  # Celery's own way: an exit status
        deadline = time.monotonic() + timeout
        while self._thread.is_alive() and time.monotonic() < deadline:
            Transport.wake()  # the worker waits for messages once more after `should_stop` was set
            self._thread.join(_END_SECONDS)
