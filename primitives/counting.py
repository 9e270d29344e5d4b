"""Numbers that rise, counted from any thread without a lock; how often a memory knew what it was asked."""

import itertools
import threading
from collections.abc import Callable


class Counter:
    """A number that rises. Counting takes one step of the interpreter, so that none is lost."""

    __slots__ = ("_lock", "_looks", "_ticks", "add")

    def __init__(self) -> None:
        self._ticks = itertools.count()
        self._lock = threading.Lock()  # of those who look; whoever counts never waits
        self._looks = 0
        self.add: Callable[[], int] = self._ticks.__next__
        """Count one; what it returns means nothing."""

    def read(self) -> int:
        """Return how many were counted."""
        with self._lock:  # a look is a tick too, which is not counted
            self._looks += 1
            return next(self._ticks) + 1 - self._looks


class Asked:
    """How a memory answered."""

    __slots__ = ("hit", "hits", "miss", "misses")

    def __init__(self) -> None:
        self.hits = Counter()
        """Answers that were remembered."""
        self.misses = Counter()
        """Answers that had to be read."""
        self.hit = self.hits.add
        self.miss = self.misses.add
