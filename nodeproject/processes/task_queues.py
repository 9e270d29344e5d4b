"""The queues of Celery's workers: in Redis in production, otherwise in this process's memory."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple

from celery.worker import state
from django.conf import settings
from django.db.models import Max
from django_celery_beat.models import PeriodicTask
from redis import RedisError

from chaindb import redis_cache
from chaindb.servers import ServerAway
from nodeproject.processes.broker import Channel
from nodeproject.processes.workers import QUEUES

NOTES: Final = {
    "chain": "blocks, staking, and what of the chains is kept",
    "default": "everything else: the network's figures, tokens, verification",
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
