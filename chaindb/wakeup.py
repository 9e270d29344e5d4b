"""Wakes a chain's maker of blocks when there is something to put into one.

In production that is the process `runproducer`, which PostgreSQL itself wakes: whoever stores work notifies
in the same transaction, so no broker stands between a transaction and its block. In the embedded profile
it is a Celery task, asked for once at a time and known by name only, so that there is no circle of imports.
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from celery import current_app
from django.core.cache import cache
from django.db import transaction

from chaindb.database import Database
from chaindb.locks import Lock

_LIFETIME = 2
"""Seconds after which a request that no worker answered is made again."""

_log = logging.getLogger(__name__)


class Wakeup:
    """Asks for one kind of work.

    Args:
        task: the Celery task that does it, by name.
        lock: held by the session of the process that does it in production, as long as that lives.
        db: where what is to be done is stored.
        profile: in "production" PostgreSQL wakes that process; elsewhere Celery does the work.
    """

    def __init__(self, task: str, lock: Lock, db: Database, profile: str) -> None:
        self.task = task
        self.lock = lock
        self.db = db
        self._in_production = profile == "production"
        self.channel = f"node_{lock.name.lower()}"
        """PostgreSQL's channel of notifications."""
        self._requested = f"{task}-{self.db.alias}-requested"
        self._lock = threading.Lock()
        self._is_attended = False
        """Whether a thread of this process is at the work, and looks once more before it ends."""
        self._asked = threading.Event()
        """Whether it was asked since that thread looked last."""

    def request(self) -> None:
        """Ask for the work, once the current transaction has stored it; without one, at once."""
        if self._in_production:
            self.db.execute("SELECT pg_notify(%s, '')", [self.channel])
        else:
            transaction.on_commit(self._send, using=self.db.alias)

    def answer(self) -> None:
        """Note that somebody looks from now on: what comes later must ask again."""
        if not self._in_production:
            cache.delete(self._requested)

    @contextmanager
    def attending(self) -> Iterator[None]:
        """Do the work in the body: who asks in this process meanwhile wakes the body, and sends no task.

        A request that the body has not seen by its end is sent then.
        """
        self.answer()
        with self._lock:
            self._is_attended = True
            self._asked.clear()
        try:
            yield
        finally:
            with self._lock:
                self._is_attended = False
                left = self._asked.is_set()
            if left:
                self._send()

    def wait(self, seconds: float) -> bool:
        """Wait for a request so many seconds at most; whether there was one. For the body of `attending`.

        In production PostgreSQL tells of requests, and this does not wait.
        """
        if self._in_production or not self._asked.wait(seconds):
            return False
        self._asked.clear()
        return True

    def is_unattended(self) -> bool:
        """Say whether no producer's process lives: then the beat's tick does its work."""
        if not self._in_production:
            return True
        with self.db.atomic():
            return self.db.try_acquire(self.lock)

    def _send(self) -> None:
        """Wake who is at the work; else send the task, unless that was done and no worker has begun yet.

        A broker that does not take it is logged and forgiven: what is to be done is stored, and the
        beat's tick finds it.
        """
        with self._lock:
            if self._is_attended:
                self._asked.set()
                return
        try:
            if cache.add(self._requested, 1, _LIFETIME):
                current_app.signature(self.task).apply_async(expires=60)
        except Exception as error:  # whatever broker or cache say, the work is stored
            _log.warning("the broker is away; the next tick makes the block: %s", error)
