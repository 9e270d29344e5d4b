"""Limits for password checks: how many run concurrently, and how long wrong guesses lock.

The callers (the keystore and the admin) decide whose attempts are counted and word the errors.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore
from typing import ClassVar, NamedTuple

from django.core.cache import BaseCache


class NoSlot(Exception):
    """All slots are taken, including those for waiting work."""


class Slots:
    """Slots for costly work. A caller that has a slot may still wait for earlier callers."""

    full: ClassVar[type[Exception]] = NoSlot
    """The exception to raise if all slots are taken."""

    def __init__(self, *, at_once: int, slots: int) -> None:
        """Take the number of concurrent workers, and the number of slots including waiting work."""
        self.at_once = at_once
        self.slots = slots
        self._slots = BoundedSemaphore(at_once)
        self._taken = BoundedSemaphore(slots)

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Hold a slot while the work runs.

        Raises:
            NoSlot: All slots are taken; a subclass names its own exception.
        """
        if not self._taken.acquire(blocking=False):
            raise self.full
        try:
            with self._slots:
                yield
        finally:
            self._taken.release()


class AttemptLimit(NamedTuple):
    """How many wrong passwords are free, and how long further ones lock."""

    free: int
    longest: int
    """Seconds that one further failure locks at most."""
    remembered: int
    """Seconds for which failures are counted."""

    def seconds_after(self, failures: int) -> int:
        """Return for how many seconds this number of failures locks."""
        return 0 if failures < self.free else min(self.longest, 1 << min(failures - self.free, 30))


class Failures:
    """Wrong passwords, counted by key in a cache that processes may share.

    Times are wall time, not the node's clock, which callers may move.
    """

    def __init__(self, cache: BaseCache, limit: AttemptLimit) -> None:
        self._cache = cache
        self._limit = limit

    def seconds_locked(self, key: str) -> int:
        """Return the seconds until the next password may be tried, or 0 if it may be tried now."""
        seconds = self._cache.get(_until(key), 0.0) - time.time()
        return int(seconds) + 1 if seconds > 0 else 0

    def count(self, key: str) -> None:
        """Count a wrong password, and lock the key if there were too many."""
        limit = self._limit
        self._cache.add(key, 0, limit.remembered)
        try:
            failures = self._cache.incr(key)
        except ValueError:  # the entry expired in between
            self._cache.set(key, failures := 1, limit.remembered)
        seconds = limit.seconds_after(failures)
        if seconds:
            self._cache.set(_until(key), time.time() + seconds, seconds + 1)

    def forget(self, key: str) -> None:
        """Reset the count, because the password was right."""
        self._cache.delete(key)


def _until(key: str) -> str:
    return f"{key}-until"
