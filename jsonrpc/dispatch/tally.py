"""Counters of pieces of work by name: their number, durations, and errors.

Tens of thousands of calls are counted per second, so each thread counts in its own lists without a lock. `read` adds
them up; the figures are displayed elsewhere.
"""

import math
import threading
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

BOUNDS: Final = (
    0.00005, 0.0002, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0,
)  # fmt: skip
"""Upper bounds of the ranges of durations in seconds; an additional range is above all of them."""


Code = int | str
"""The code of an error; 0 means no error."""


class Durations(NamedTuple):
    """Durations of the pieces of work with one name."""

    counts: tuple[int, ...]
    """Number in each range: up to the first bound, the second, …, and above the last one."""
    seconds: float
    """Sum of all durations."""

    @property
    def number(self) -> int:
        """Number of all pieces of work."""
        return sum(self.counts)


class CallTotals(NamedTuple):
    """The counts of all threads."""

    durations: dict[str, Durations]
    errors: dict[tuple[str, Code], int]
    """Number of errors, by name and code."""


class Observe(Protocol):
    """The function that counts in a tally."""

    def __call__(self, name: str, seconds: float, code: Code = 0, count: int = 1, /) -> None:
        """Count pieces of work with the duration of each; a code that is not 0 or empty counts as an error."""


class _ThreadCounts:
    """The counts of one thread, which only that thread writes."""

    __slots__ = ("errors", "rows", "thread")

    def __init__(self, thread: threading.Thread | None = None) -> None:
        self.thread = thread
        self.rows: dict[str, list[float]] = {}
        """By name: the numbers in each range, and the sum of durations."""
        self.errors: dict[tuple[str, Code], int] = {}

    def add(self, other: "_ThreadCounts") -> None:
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
    """The current thread's table, unpacked; each thread gets its own."""

    def __init__(self, enrol: Callable[[], _ThreadCounts]) -> None:
        table = enrol()
        self.rows = table.rows
        self.errors = table.errors


class Tally:
    """Counts from any thread. Names and codes must be few, because none is ever removed."""

    def __init__(self, bounds: Sequence[float] = BOUNDS) -> None:
        self.bounds: Final = tuple(map(float, bounds))
        self._lock = threading.Lock()
        self._tables: list[_ThreadCounts] = []
        self._retired = _ThreadCounts()
        self.observe: Final[Observe] = self._observer()
        """Counts a piece of work, in a fifth of a microsecond."""

    def read(self) -> CallTotals:
        """Return the counts of all threads so far."""
        with self._lock:
            self._retire()
            total = _ThreadCounts()
            for table in (self._retired, *self._tables):
                total.add(table)
        durations = {
            name: Durations(tuple(map(int, counts)), seconds)
            for name, (*counts, seconds) in total.rows.items()
        }
        return CallTotals(durations, total.errors)

    def reset(self) -> None:
        """Restart from zero in a forked process, because its parent reports the earlier counts."""
        self._lock = threading.Lock()  # a thread of the parent may have held the old one
        for table in (self._retired, *self._tables):
            table.clear()

    def _observer(self) -> Observe:
        """Return a function with everything it needs in its closure, because lookups would double its time."""
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

    def _enrol(self) -> _ThreadCounts:
        table = _ThreadCounts(threading.current_thread())
        with self._lock:
            self._retire()
            self._tables.append(table)
        return table

    def _retire(self) -> None:
        """Keep the counts of threads that have ended, but not their tables."""
        for table in self._tables.copy():
            if table.thread is not None and not table.thread.is_alive():
                self._retired.add(table)
                self._tables.remove(table)
