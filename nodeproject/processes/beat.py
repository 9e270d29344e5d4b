"""The beat's schedulers, which sleep until a task is due.

Celery's own wake ten milliseconds before that, and look again and again until it is: a hundred times a second, for
a schedule whose tasks are due each second.
"""

import time
from typing import Final

from celery import beat
from django_celery_beat import schedulers
from typing_extensions import override

LOOK: Final = 1.0
"""Seconds between looks whether somebody has changed the schedule in the database."""


class Scheduler(beat.Scheduler):
    """The schedule in the settings, of which nothing is kept."""

    @override
    def adjust(self, n: int, drift: float = 0.0) -> float:
        """Return the seconds to sleep, by default all of them: `time.sleep` never returns early."""
        return super().adjust(n, drift)


class DatabaseScheduler(Scheduler, schedulers.DatabaseScheduler):  # type: ignore[misc]  # it has no types
    """The schedule in the database, which is not asked at each look at the clock."""

    _looked_at = 0.0

    @override
    def schedule_changed(self) -> bool:
        """Say whether the schedule is another one; between two looks it is not."""
        now = time.monotonic()
        if now - self._looked_at < LOOK:
            return False
        self._looked_at = now
        return bool(super().schedule_changed())
