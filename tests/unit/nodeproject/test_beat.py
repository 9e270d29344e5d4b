"""The beat sleeps from one due task to the next, on a clock that advances only during sleeps."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from celery import Celery, beat
from celery.schedules import schedule
from django_celery_beat import schedulers
from typing_extensions import override

from nodeproject.processes.beat import Scheduler
from nodeproject.processes.beat_rows import DatabaseScheduler

TASKS = 4
SECONDS = 10


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


class Recording(Scheduler):
    """A scheduler that records tasks instead of sending them, without the default tasks."""

    def __init__(self, clock: Clock) -> None:
        self.sent: list[tuple[str, datetime]] = []
        self._clock = clock
        app = Celery(broker="memory://", set_as_current=False)
        super().__init__(
            app,
            schedule={
                name: beat.ScheduleEntry(
                    name, name, clock.now, schedule=schedule(1.0, nowfun=clock, app=app), app=app
                )
                for name in map(str, range(TASKS))
            },
            lazy=True,
        )

    @override
    def apply_async(self, entry: Any, *_: object, **__: object) -> None:
        self.sent.append((entry.task, self._clock.now))


def test_beat_wakes_only_when_tasks_are_due() -> None:
    clock = Clock()
    began, scheduler, looks = clock.now, Recording(clock), 0
    while clock.now < began + timedelta(seconds=SECONDS):
        clock.now += timedelta(seconds=scheduler.tick())
        looks += 1
        assert looks <= 2 * TASKS * SECONDS, clock.now

    for name in map(str, range(TASKS)):
        times = [at for task, at in scheduler.sent if task == name]
        assert times == [began + timedelta(seconds=n) for n in range(1, len(times) + 1)]
        assert len(times) >= SECONDS - 1


@pytest.mark.parametrize("kind", [Scheduler, DatabaseScheduler])
def test_both_sleep_for_as_long_as_nothing_is_due(kind: type[Scheduler]) -> None:
    made = kind.__new__(kind)
    assert made.adjust(7) == 7
    assert issubclass(DatabaseScheduler, schedulers.DatabaseScheduler)


def test_schedule_change_is_checked_once_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moments = iter([100.0, 100.4, 100.9, 101.1])
    made = DatabaseScheduler.__new__(DatabaseScheduler)
    monkeypatch.setattr(schedulers.DatabaseScheduler, "schedule_changed", lambda _: True)
    monkeypatch.setattr(
        "nodeproject.processes.beat_rows.time", SimpleNamespace(monotonic=lambda: next(moments))
    )

    assert [made.schedule_changed() for _ in range(4)] == [True, False, False, True]
