"""Beat schedulers that sleep until a task is due.

Celery's own schedulers wake ten milliseconds earlier and then poll until the task is due: a hundred times a
second for a schedule with tasks each second.
"""

import time
from typing import Final

from celery import beat
from django_celery_beat import schedulers
from typing_extensions import override

POLL_SECONDS: Final = 1.0
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
        """Return whether the schedule has changed; always False within `POLL_SECONDS` seconds of the last check."""
        now = time.monotonic()
        if now - self._looked_at < POLL_SECONDS:
            return False
        self._looked_at = now
        return bool(super().schedule_changed())
