"""Wakes a chain's builder of blocks: a task that is known by name only, asked for once at a time."""

import logging

from celery import current_app
from django.core.cache import cache

_LIFETIME = 2
"""Seconds after which a request that no worker answered is made again."""

_log = logging.getLogger(__name__)


class Wakeup:
    """Asks for one task; the name is the only link to it, so that there is no circle of imports."""

    def __init__(self, task: str) -> None:
        self.task = task
        self._requested = f"{task}-requested"

    def request(self) -> None:
        """Ask for the task, unless that was done already and no worker has begun yet.

        For `transaction.on_commit` or after it. A broker that is away is logged and forgiven: what is
        to be done is stored, and the beat's tick finds it.
        """
        try:
            if cache.add(self._requested, 1, _LIFETIME):
                current_app.signature(self.task).apply_async(expires=60)
        except Exception as error:  # whatever broker or cache say, the work is stored
            _log.warning("the broker is away; the next tick makes the block: %s", error)

    def answer(self) -> None:
        """Note that a worker looks from now on: what comes later must ask again."""
        cache.delete(self._requested)
