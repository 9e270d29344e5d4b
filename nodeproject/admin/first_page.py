"""The admin's first page: actions on the node, and the overview of tasks.

The actions pause block production and run a health check again; actions on a row are in the admin of its model. The overview
shows tasks that wait for Celery's workers, run, or were last sent by the beat.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from celery.beat import Scheduler
from celery.worker import state
from django.conf import settings
from django.db.models import Max
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods
from redis import RedisError

from adminkit import display, formats
from adminkit.dashboard import Card, Overview
from cchain_app.admin import dashboard
from chaindb import redis_cache
from chaindb.servers import ServerAway
from health_app import admin
from nodeproject.apps import this_node
from nodeproject.processes.broker import QUEUES, Channel


@require_http_methods(["GET", "POST"])
def pause_or_resume(request: HttpRequest, name: str) -> HttpResponse:
    """Ask for confirmation of pausing or resuming the C-Chain's block production, or do it."""
    return dashboard.ask_for(request, this_node().evm_chain, name)


@require_http_methods(["GET", "POST"])
def run_check(request: HttpRequest, name: str) -> HttpResponse:
    """Ask for confirmation of running a health check again, or do it."""
    return admin.ask_to_run(request, this_node().observation.reporter, name)


NOTES: Final = {
    "chain": "blocks, staking, and pruning of the history",
    "default": "everything else: network statistics, tokens, contract verification",
}
"""The purpose of each queue."""


class TaskQueues(NamedTuple):
    """The state of the task queues."""

    waiting: Mapping[str, int]
    """By queue, the messages that no worker has taken; empty if the queues cannot be read."""
    refusal: str = ""
    """Why the queues cannot be read."""
    running: int | None = None
    """Running tasks; None if the worker is another process."""
    done: int | None = None
    """Tasks that ended since this process started; None likewise."""
    scheduled_at: datetime | None = None
    """When the beat last sent a task, if it saves that."""


def measure() -> TaskQueues:
    """Return the waiting and running tasks, with one request to Redis and one query of the database in production."""
    if settings.NODE.common.profile != "production":
        return _of_this_process()
    from django_celery_beat.models import PeriodicTask  # only installed in this profile

    sent = PeriodicTask.objects.aggregate(at=Max("last_run_at"))["at"]
    try:
        waiting = redis_cache.list_lengths(QUEUES)
    except ServerAway as error:
        return TaskQueues({}, str(error), scheduled_at=sent)
    except RedisError as error:  # Redis refused, or the connection was briefly lost
        words = f"Redis did not answer: {str(error) or type(error).__name__}"
        return TaskQueues({}, words, scheduled_at=sent)
    return TaskQueues(waiting, scheduled_at=sent)


def _of_this_process() -> TaskQueues:
    held = Channel.queues
    return TaskQueues(
        {name: held[name].qsize() if name in held else 0 for name in QUEUES},
        running=len(state.active_requests),
        done=sum(state.total_count.values()) - len(state.active_requests),
    )


_WRITTEN_EVERY: Final = timedelta(seconds=Scheduler.sync_every)
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
        words = "only the workers know the running tasks: see their metrics"
        return (Card("Workers", display.muted("other process"), words),)
    return (Card("Worker", f"{found.running:,} running", f"{found.done:,} done since the start"),)


def _beat_cards(found: TaskQueues) -> tuple[Card, ...]:
    if found.running is not None:
        return ()  # the beat's thread starts and ends with this process
    if found.scheduled_at is None:
        return (Card("Beat", display.badge("silent", "bad"), "no task sent yet"),)
    age = datetime.now(UTC) - found.scheduled_at
    shown = display.link("Schedule", reverse("admin:django_celery_beat_periodictask_changelist"))
    if age > _SILENT_AFTER:
        shown = display.side_by_side(display.badge("silent", "bad"), shown)
    every = formats.format_age(int(_WRITTEN_EVERY.total_seconds()))
    words = f"sent {formats.format_age(int(age.total_seconds()))} ago; recorded every {every}"
    return (Card("Beat", shown, words),)
