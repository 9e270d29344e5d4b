"""Celery's worker and beat as threads of the embedded profile's one process."""

import threading
import time
from typing import Any

from celery import beat
from celery.worker import state

from nodeproject.celery import app
from nodeproject.processes.beat import Scheduler
from nodeproject.processes.broker import Transport

QUEUES = ("chain", "default")
LOOK = 0.05
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
            self._thread.join(LOOK)
