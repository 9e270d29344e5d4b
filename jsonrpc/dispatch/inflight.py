"""Calls in progress with their durations, and counts of replies by status, for health checks and metrics.

Only calls in worker threads are registered; those on the event loop finish immediately.
"""

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from primitives.bounded_cache import Counter


class CallInFlight(NamedTuple):
    """A call in progress: its method, and the clock's time of its start in seconds."""

    method: str
    started: float


class Inflight:
    """The calls in progress, oldest first. Safe to use from any thread."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._tickets = itertools.count()
        self._running: dict[int, CallInFlight] = {}
        self._lock = threading.Lock()

    def begin(self, method: str) -> int:
        """Register a call; return the ticket for `end`."""
        running = CallInFlight(method, self._clock())
        with self._lock:
            ticket = next(self._tickets)
            self._running[ticket] = running
        return ticket

    def end(self, ticket: int) -> None:
        """Remove a finished call."""
        with self._lock:
            self._running.pop(ticket, None)

    @contextmanager
    def running(self, method: str) -> Iterator[None]:
        """Register a call while the body runs."""
        ticket = self.begin(method)
        try:
            yield
        finally:
            self.end(ticket)

    def __len__(self) -> int:
        return len(self._running)

    def oldest(self) -> CallInFlight | None:
        """Return the call that has been running longest, if any."""
        with self._lock:
            return next(iter(self._running.values()), None)

    def longest_seconds(self) -> float:
        """Return for how long the oldest call has been running; 0 without calls."""
        oldest = self.oldest()
        return 0.0 if oldest is None else max(0.0, self._clock() - oldest.started)


METHODS: Final = frozenset({"GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"})
OTHER: Final = "other"
"""Counts all other method names, so that a client cannot create counters."""

Kind = tuple[str, int]
"""Method and status."""


class Replies:
    """Counts of the replies of one interface, or of some pages."""

    def __init__(self) -> None:
        self._counters: dict[Kind, Counter] = {}
        self._before: dict[Kind, int] = {}
        self.answered: Final = self._counter(("POST", 200)).add
        """Counts the most common kind of reply, in a twentieth of a microsecond."""

    def count(self, method: str, status: int) -> None:
        """Count a reply."""
        self._counter((method if method in METHODS else OTHER, int(status))).add()

    def read(self) -> dict[Kind, int]:
        """Return the number of replies by kind, without kinds that have none."""
        counted = {
            kind: counter.read() - self._before.get(kind, 0)
            for kind, counter in self._counters.copy().items()
        }
        return {kind: number for kind, number in counted.items() if number}

    def reset(self) -> None:
        """Restart from zero in a forked process, because its parent reports the earlier counts."""
        self._before = {kind: counter.read() for kind, counter in self._counters.items()}

    def _counter(self, kind: Kind) -> Counter:
        counter = self._counters.get(kind)
        return self._counters.setdefault(kind, Counter()) if counter is None else counter
