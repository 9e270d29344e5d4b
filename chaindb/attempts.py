"""Work with passwords, bounded: how much of it runs at once, and what wrong guesses cost.

Who guesses whose password, and the words of a refusal, are their owners': the keystore's and the admin's.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore
from typing import ClassVar, NamedTuple

from django.core.cache import BaseCache


class NoSlot(Exception):
    """As much work as may wait does already."""


class Slots:
    """Slots for costly work; who has one may have to wait for those in front."""

    full: ClassVar[type[Exception]] = NoSlot
    """What is raised where all slots are taken."""

    def __init__(self, *, at_once: int, slots: int) -> None:
        """Take how many work at once, and how many there are with those who wait."""
        self.at_once = at_once
        self.slots = slots
        self._slots = BoundedSemaphore(at_once)
        self._taken = BoundedSemaphore(slots)

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Take a slot for as long as the work lasts.

        Raises:
            NoSlot: All of them are taken; a subclass names its own exception.
        """
        if not self._taken.acquire(blocking=False):
            raise self.full
        try:
            with self._slots:
                yield
        finally:
            self._taken.release()


class Limit(NamedTuple):
    """How many wrong passwords are free, and what the others cost."""

    free: int
    longest: int
    """Seconds that one more locks at most."""
    remembered: int
    """Seconds for which they are counted."""

    def seconds_after(self, failures: int) -> int:
        """Return for how long so many failures lock."""
        return 0 if failures < self.free else min(self.longest, 1 << min(failures - self.free, 30))


class Failures:
    """Wrong passwords by whom they are counted against, in a cache that processes may share.

    Time is wall time, not the node's clock, which callers may move.
    """

    def __init__(self, cache: BaseCache, limit: Limit) -> None:
        self._cache = cache
        self._limit = limit

    def seconds_locked(self, key: str) -> int:
        """Return for how long the next password has to wait; 0 when it may be tried."""
        seconds = self._cache.get(_until(key), 0.0) - time.time()
        return int(seconds) + 1 if seconds > 0 else 0

    def count(self, key: str) -> None:
        """Count a wrong password, and lock where there were too many."""
        limit = self._limit
        self._cache.add(key, 0, limit.remembered)
        try:
            failures = self._cache.incr(key)
        except ValueError:  # it was forgotten in between
            self._cache.set(key, failures := 1, limit.remembered)
        seconds = limit.seconds_after(failures)
        if seconds:
            self._cache.set(_until(key), time.time() + seconds, seconds + 1)

    def forget(self, key: str) -> None:
        """Make the count zero: the password was right."""
        self._cache.delete(key)


def _until(key: str) -> str:
    return f"{key}-until"
