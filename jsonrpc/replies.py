"""Counts replies over HTTP by method and status, without a lock: tens of thousands a second.

Calls are counted by `tally`; this is about what carries them, and about requests that carry none.
"""

from typing import Final

from primitives.counting import Counter

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
