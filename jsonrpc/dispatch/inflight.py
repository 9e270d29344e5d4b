"""Which calls are running now, for how long, and how replies ended: what health checks and metrics ask.

Only calls that run in worker threads are entered; those on the event loop are over at once.
"""

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from primitives.counting import Counter


class Running(NamedTuple):
    """A call that has begun: its method and the clock's time then, in seconds."""

    method: str
    started: float


class Inflight:
    """The running calls, oldest first. Safe to use from any thread."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._tickets = itertools.count()
        self._running: dict[int, Running] = {}
        self._lock = threading.Lock()

    def begin(self, method: str) -> int:
        """Enter a call; returns the ticket for `end`."""
        running = Running(method, self._clock())
        with self._lock:
            ticket = next(self._tickets)
            self._running[ticket] = running
        return ticket

    def end(self, ticket: int) -> None:
        """The call is done."""
        with self._lock:
            self._running.pop(ticket, None)

    @contextmanager
    def running(self, method: str) -> Iterator[None]:
        """Enter a call while the body runs."""
        ticket = self.begin(method)
        try:
            yield
        finally:
            self.end(ticket)

    def __len__(self) -> int:
        return len(self._running)

    def oldest(self) -> Running | None:
        """The call that has been running longest, if any."""
        with self._lock:
            return next(iter(self._running.values()), None)

    def longest_seconds(self) -> float:
        """For how long the oldest call has been running; 0 when there is none."""
        oldest = self.oldest()
        return 0.0 if oldest is None else max(0.0, self._clock() - oldest.started)


METHODS: Final = frozenset({"GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"})
OTHER: Final = "other"
"""Whatever word a client sends for a method makes no count of its own."""

Kind = tuple[str, int]
"""Method and status."""


class Replies:
    """The replies of one interface, or on some pages."""

    def __init__(self) -> None:
        self._counters: dict[Kind, Counter] = {}
        self._before: dict[Kind, int] = {}
        self.answered: Final = self._counter(("POST", 200)).add
        """Counts the usual reply, in a twentieth of a microsecond."""

    def count(self, method: str, status: int) -> None:
        """Count a reply."""
        self._counter((method if method in METHODS else OTHER, int(status))).add()

    def read(self) -> dict[Kind, int]:
        """Return how many there were so far of each kind that there was."""
        counted = {
            kind: counter.read() - self._before.get(kind, 0)
            for kind, counter in self._counters.copy().items()
        }
        return {kind: number for kind, number in counted.items() if number}

    def reset(self) -> None:
        """Begin anew, in a process that was forked: its parent shows what was counted before."""
        self._before = {kind: counter.read() for kind, counter in self._counters.items()}

    def _counter(self, kind: Kind) -> Counter:
        found = self._counters.get(kind)
        return self._counters.setdefault(kind, Counter()) if found is None else found
