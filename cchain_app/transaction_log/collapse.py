"""Collapse repeated entries to one per second with a count. Pure."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from cchain_app.transaction_log.entries import CallEntry, Entry, SummaryEntry

SECONDS: Final = 1.0


class Collapse:
    """Passes entries on immediately, and holds back those that repeat the last one within a second.

    Calls of one method repeat each other unless they have messages, and summaries repeat each other. A held entry
    is written before any following entry, and after a second at the latest.

    Args:
        seconds: How long entries are held back.
        clock: Returns increasing seconds.
    """

    def __init__(
        self, seconds: float = SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds = seconds
        self._clock = clock
        self._last: Entry | None = None
        self._held: Entry | None = None
        self._due = 0.0

    def put(self, entry: Entry) -> Iterator[Entry]:
        """Yield the entries to write when this entry arrives."""
        yield from self.take_due()
        if _repeats(self._last, entry) and self._clock() < self._due:
            self._held = entry if self._held is None else _joined(self._held, entry)
            return
        yield from self.take()
        self._last, self._due = entry, self._clock() + self._seconds
        yield entry

    def take_due(self) -> Iterator[Entry]:
        """Yield the held entry if its time is over."""
        if self._held is not None and self._clock() >= self._due:
            self._due = self._clock() + self._seconds
            yield from self.take()

    def take(self) -> Iterator[Entry]:
        """Yield the held entry."""
        held, self._held = self._held, None
        if held is not None:
            yield held

    def seconds_left(self) -> float | None:
        """Return the seconds until the held entry is due; None: no entry is held."""
        return None if self._held is None else max(self._due - self._clock(), 0.0)


def _repeats(last: Entry | None, entry: Entry) -> bool:
    if isinstance(last, SummaryEntry) and isinstance(entry, SummaryEntry):
        return True
    return (
        isinstance(last, CallEntry)
        and isinstance(entry, CallEntry)
        and (last.method, last.exists) == (entry.method, entry.exists)
        and not entry.messages
        and entry.missing is None
    )


def _joined(held: Entry, entry: Entry) -> Entry:
    if isinstance(held, CallEntry) and isinstance(entry, CallEntry):
        return replace(held, count=held.count + entry.count)
    assert isinstance(held, SummaryEntry)
    assert isinstance(entry, SummaryEntry)
    first = held.first_block if held.first_block is not None else entry.first_block
    last = entry.last_block if entry.last_block is not None else held.last_block
    return SummaryEntry(
        first,
        last,
        held.transactions + entry.transactions,
        held.gas_used + entry.gas_used,
        held.calls + entry.calls,
    )
