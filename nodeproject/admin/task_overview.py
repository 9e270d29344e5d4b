"""Tasks on the admin's first page: waiting for Celery's workers, running, and last sent by the beat."""

from datetime import UTC, datetime, timedelta
from typing import Final

from django.urls import reverse
from django_celery_beat.schedulers import DatabaseScheduler

from adminkit import display, formats
from adminkit.overview import Card, Overview
from nodeproject.processes.task_queues import NOTES, TaskQueues, measure

_WRITTEN_EVERY: Final = timedelta(seconds=DatabaseScheduler.sync_every)
"""The beat saves the times of sent tasks at most this often."""
_SILENT_AFTER: Final = 2 * _WRITTEN_EVERY


def overview() -> Overview:
    """Return the state of the task queues."""
    found = measure()
    return Overview(
        name="Tasks",
        cards=(*_queue_cards(found), *_worker_cards(found), *_beat_cards(found)),
        panels=(),
    )


def _queue_cards(found: TaskQueues) -> tuple[Card, ...]:
    if found.refusal:
        return (Card("Queues", display.badge("unknown", "wait"), found.refusal),)
    return tuple(
        Card(f"Queue “{name}”", f"{count:,} waiting", NOTES[name])
        for name, count in found.waiting.items()
    )


def _worker_cards(found: TaskQueues) -> tuple[Card, ...]:
    if found.running is None or found.done is None:
        words = "running tasks are known only to the workers: see their metrics"
        return (Card("Workers", display.faint("elsewhere"), words),)
    return (Card("Worker", f"{found.running:,} running", f"{found.done:,} done since the start"),)


def _beat_cards(found: TaskQueues) -> tuple[Card, ...]:
    page = reverse("admin:django_celery_beat_periodictask_changelist")
    if found.running is not None:
        return ()  # the beat's thread starts and ends with this process
    if found.scheduled_at is None:
        return (Card("Beat", display.badge("silent", "bad"), "no task sent yet"),)
    age = datetime.now(UTC) - found.scheduled_at
    shown = display.link("Schedule", page)
    if age > _SILENT_AFTER:
        shown = display.line(display.badge("silent", "bad"), shown)
    every = formats.format_age(int(_WRITTEN_EVERY.total_seconds()))
    words = f"sent {formats.format_age(int(age.total_seconds()))} ago; recorded every {every}"
    return (Card("Beat", shown, words),)
