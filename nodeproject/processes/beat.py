"""A beat scheduler that sleeps until a task is due.

Celery's own schedulers wake ten milliseconds earlier and then poll until the task is due: a hundred times a
second for a schedule with tasks each second.
"""

from celery import beat
from typing_extensions import override


class Scheduler(beat.Scheduler):
    """The schedule in the settings, which is stored nowhere else."""

    @override
    def adjust(self, n: int, drift: float = 0.0) -> float:
        """Return the seconds to sleep, by default the full interval: `time.sleep` never returns early."""
        return super().adjust(n, drift)
