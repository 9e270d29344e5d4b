"""Counters that any thread can increment without a lock, and hit counts of caches."""

import itertools
import threading
from collections.abc import Callable


class Counter:
    """A count that only rises. Incrementing is one interpreter step, so none is lost."""

    __slots__ = ("_lock", "_looks", "_ticks", "add")

    def __init__(self) -> None:
        self._ticks = itertools.count()
        self._lock = threading.Lock()  # for readers; counting never waits
        self._looks = 0
        self.add: Callable[[], int] = self._ticks.__next__
        """Increment the count; the return value is meaningless."""

    def read(self) -> int:
        """Return the count."""
        with self._lock:  # a read advances the iterator too, which is subtracted
            self._looks += 1
            return next(self._ticks) + 1 - self._looks


class HitCounter:
    """Hits and misses of a cache."""

    __slots__ = ("hit", "hits", "miss", "misses")

    def __init__(self) -> None:
        self.hits = Counter()
        """Requests that the cache answered."""
        self.misses = Counter()
        """Requests that had to be read elsewhere."""
        self.hit = self.hits.add
        self.miss = self.misses.add
