"""Entries that say the same again and again, as one for each second with a number in it. Pure."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from cchain_app.transaction_log.entries import CallEntry, Entry, SummaryEntry

SECONDS: Final = 1.0


class Collapse:
    """Hands entries on at once, and holds back what repeats the last one within a second.

    Calls of one method repeat each other unless they have messages; so do summaries. What is held back
    comes before anything else that follows, and after a second at the latest.

    Args:
        seconds: For which entries are held back.
        clock: Seconds, rising.
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
        """Yield what is to be written now that an entry comes."""
        yield from self.take_due()
        if _repeats(self._last, entry) and self._clock() < self._due:
            self._held = entry if self._held is None else _joined(self._held, entry)
            return
        yield from self.take()
        self._last, self._due = entry, self._clock() + self._seconds
        yield entry

    def take_due(self) -> Iterator[Entry]:
        """Yield what was held back long enough."""
        if self._held is not None and self._clock() >= self._due:
            self._due = self._clock() + self._seconds
            yield from self.take()

    def take(self) -> Iterator[Entry]:
        """Yield what is held back."""
        held, self._held = self._held, None
        if held is not None:
            yield held

    def seconds_left(self) -> float | None:
        """Return in how many seconds something is due; None: nothing is held back."""
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
