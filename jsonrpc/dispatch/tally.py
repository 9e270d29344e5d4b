"""Counts pieces of work by name: how many, how long they took, which errors they ended with.

It is told of every call, tens of thousands a second, so each thread counts in lists of its own and
no lock is taken. Whoever wants to know adds them up with `read`; how figures are shown is elsewhere.
"""

import math
import threading
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

BOUNDS: Final = (
    0.00005, 0.0002, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0,
)  # fmt: skip
"""Upper bounds of the ranges in which durations are counted, in seconds; one more is above all."""


Code = int | str
"""What an error is known by; 0 stands for no error."""


class Durations(NamedTuple):
    """How long the pieces of work of one name took."""

    counts: tuple[int, ...]
    """How many in each range: up to the first bound, the second, …, and above the last one."""
    seconds: float
    """Of all together."""

    @property
    def number(self) -> int:
        """How many there were."""
        return sum(self.counts)


class Totals(NamedTuple):
    """What was counted."""

    durations: dict[str, Durations]
    errors: dict[tuple[str, Code], int]
    """How many ended with an error, by name and code."""


class Observe(Protocol):
    """What a tally is told by."""

    def __call__(self, name: str, seconds: float, code: Code = 0, count: int = 1, /) -> None:
        """Count pieces of work that are over, each so long; a code that is not 0 or empty counts as an error."""


class _Table:
    """What one thread has counted; written by that thread only."""

    __slots__ = ("errors", "rows", "thread")

    def __init__(self, thread: threading.Thread | None = None) -> None:
        self.thread = thread
        self.rows: dict[str, list[float]] = {}
        """By name: how many in each range, and the seconds of all."""
        self.errors: dict[tuple[str, Code], int] = {}

    def add(self, other: "_Table") -> None:
        for name, counted in other.rows.copy().items():
            row = counted.copy()
            own = self.rows.get(name)
            self.rows[name] = row if own is None else [a + b for a, b in zip(own, row, strict=True)]
        for key, count in other.errors.copy().items():
            self.errors[key] = self.errors.get(key, 0) + count

    def clear(self) -> None:
        self.rows.clear()
        self.errors.clear()


class _Own(threading.local):
    """The present thread's table, taken apart: each thread that comes by gets its own."""

    def __init__(self, enrol: Callable[[], _Table]) -> None:
        table = enrol()
        self.rows = table.rows
        self.errors = table.errors


class Tally:
    """Counts from any thread. Names and codes must be few: each one is kept for ever."""

    def __init__(self, bounds: Sequence[float] = BOUNDS) -> None:
        self.bounds: Final = tuple(map(float, bounds))
        self._lock = threading.Lock()
        self._tables: list[_Table] = []
        self._retired = _Table()
        self.observe: Final[Observe] = self._observer()
        """Counts a piece of work, in a fifth of a microsecond."""

    def read(self) -> Totals:
        """Return what all threads have counted so far."""
        with self._lock:
            self._retire()
            total = _Table()
            for table in (self._retired, *self._tables):
                total.add(table)
        durations = {
            name: Durations(tuple(map(int, counts)), seconds)
            for name, (*counts, seconds) in total.rows.items()
        }
        return Totals(durations, total.errors)

    def reset(self) -> None:
        """Begin anew, in a process that was forked: its parent shows what was counted before."""
        self._lock = threading.Lock()  # a thread that is not here may have held the old one
        for table in (self._retired, *self._tables):
            table.clear()

    def _observer(self) -> Observe:
        """Return a function that has at hand all that it needs: looking things up would double its time."""
        own = _Own(self._enrol)
        bounds = self.bounds
        first = bounds[0] if bounds else math.inf
        seconds_at = len(bounds) + 1

        def observe(name: str, seconds: float, code: Code = 0, count: int = 1, /) -> None:
            try:
                row = own.rows[name]
            except KeyError:
                row = own.rows[name] = [0] * seconds_at + [0.0]
            row[0 if seconds <= first else bisect_left(bounds, seconds)] += count
            row[seconds_at] += seconds * count
            if code:
                key = (name, code)
                own.errors[key] = own.errors.get(key, 0) + count

        return observe

    def _enrol(self) -> _Table:
        table = _Table(threading.current_thread())
        with self._lock:
            self._retire()
            self._tables.append(table)
        return table

    def _retire(self) -> None:
        """Keep what threads counted that have ended, but not their tables."""
        for table in self._tables.copy():
            if table.thread is not None and not table.thread.is_alive():
                self._retired.add(table)
                self._tables.remove(table)
