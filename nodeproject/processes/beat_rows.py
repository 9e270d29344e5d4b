"""The scheduler of a beat in a process of its own, whose schedule is in the database (`nodeproject.settings.beat_tables`)."""

import time
from typing import Final

from django_celery_beat import schedulers
from typing_extensions import override

from nodeproject.processes.beat import Scheduler

POLL_SECONDS: Final = 1.0
"""Seconds between checks whether the schedule in the database has changed."""


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
