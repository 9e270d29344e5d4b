"""Wakes a chain's block producer when there is work for a block.

The production producer is the process `runproducer`, and PostgreSQL itself wakes it: the transaction
that stores the work also notifies, so no broker is between a transaction and its block. The embedded
profile uses a Celery task. Only one request for it is pending at a time, and it is referenced by name
only, to avoid circular imports.
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.db import transaction
from django.utils.module_loading import import_string

from chaindb.database import Database
from chaindb.locks import Lock

_LIFETIME = 2
"""Seconds after which a request that no worker has started is sent again."""

_LONGEST_CHANNEL = 63
"""Characters of a PostgreSQL name. The rest of a chain's ID, of which 40 characters are left, makes no difference."""

_log = logging.getLogger(__name__)


def task_app() -> Any:
    """Return the project's Celery app, which the first call imports: that takes a fifth of a node's start."""
    return import_string(settings.TASK_APP)


class Wakeup:
    """Requests one kind of work.

    Args:
        task: Name of the Celery task that does the work.
        lock: Held by the session of the process that does the work in production, as long as it lives.
        db: Database that stores the pending work.
        profile: In "production" PostgreSQL wakes that process; otherwise Celery does the work.
        chain: The name of the chain that the task gets; None: the task knows its chain.
    """

    def __init__(
        self, task: str, lock: Lock, db: Database, profile: str, chain: str | None = None
    ) -> None:
        self.task = task
        self.lock = lock
        self.db = db
        self._in_production = profile == "production"
        self._arguments = {} if chain is None else {"chain": chain}
        channel = "_".join(filter(None, ("node", lock.name.lower(), chain)))
        self.channel = channel if len(channel) < _LONGEST_CHANNEL else channel[:_LONGEST_CHANNEL]
        """PostgreSQL notification channel: as much of the name as it can have."""
        self._requested = f"{task}-{self.db.alias}-requested"
        self._lock = threading.Lock()
        self._is_attended = False
        """Whether a thread of this process is doing the work, and checks once more before it ends."""
        self._requested_meanwhile = threading.Event()
        """Set when work is requested after that thread's last check."""

    @property
    def lock_key(self) -> int:
        """The key of the lock in PostgreSQL."""
        return self.db.key_of(self.lock)

    def request(self) -> None:
        """Request the work when the current transaction commits; without a transaction, immediately."""
        if self._in_production:
            self.db.execute("SELECT pg_notify(%s, '')", [self.channel])
        else:
            transaction.on_commit(self._send, using=self.db.alias)

    def answer(self) -> None:
        """Note that the work is being checked now; later work must be requested again."""
        if not self._in_production:
            cache.delete(self._requested)

    @contextmanager
    def attending(self) -> Iterator[None]:
        """Do the work in the body. Requests in this process meanwhile wake the body and send no task.

        A request that the body has not seen by its end is sent then.
        """
        self.answer()
        with self._lock:
            self._is_attended = True
            self._requested_meanwhile.clear()
        try:
            yield
        finally:
            with self._lock:
                self._is_attended = False
                left = self._requested_meanwhile.is_set()
            if left:
                self._send()

    def wait(self, seconds: float) -> bool:
        """Wait for a request for at most some seconds. Return whether there was one.

        For the body of `attending`. In production PostgreSQL delivers requests, so this does not wait.
        """
        if self._in_production or not self._requested_meanwhile.wait(seconds):
            return False
        self._requested_meanwhile.clear()
        return True

    def is_unattended(self) -> bool:
        """Return whether no producer process lives; the periodic task then does its work."""
        if not self._in_production:
            return True
        with self.db.atomic():
            return self.db.try_acquire(self.lock)

    def _send(self) -> None:
        """Wake the thread that does the work; else send the task, unless a sent one has not started yet.

        A failure of the broker is only logged: the work is stored, and the periodic task finds it.
        """
        with self._lock:
            if self._is_attended:
                self._requested_meanwhile.set()
                return
        try:
            if cache.add(self._requested, 1, _LIFETIME):
                task_app().signature(self.task, kwargs=self._arguments).apply_async(expires=60)
        except (
            Exception
        ) as error:  # the work is stored, so a failure of the broker or cache only delays it
            _log.warning(
                "the broker is unavailable; the block is built at the next tick: %s", error
            )
