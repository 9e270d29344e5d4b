"""What this process counts, and what it can be asked: whoever has something registers it here.

Plain Python, no Prometheus and no database: the hot path counts into these objects. How they are
read is in `process`.
"""

import time
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from jsonrpc.hub import Hub
from jsonrpc.inflight import Inflight
from jsonrpc.replies import Replies
from jsonrpc.tally import Tally
from jsonrpc.workers import Workers

LONG_BOUNDS: Final = (
    0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0,
)  # fmt: skip
"""Upper bounds, in seconds, for tasks and blocks."""

OTHER: Final = "other"
"""Of requests: those for no interface and no page of this node."""


class CacheState(NamedTuple):
    """How a cache is."""

    entries: int
    hits: int
    misses: int


class CheckState(NamedTuple):
    """How a health check came out."""

    name: str
    tags: frozenset[str]
    fails: bool
    seconds: float
    """That the last run took."""
    contiguous_failures: int


class Tasks:
    """What Celery's tasks did in this process."""

    def __init__(self) -> None:
        self.durations: Final = Tally(LONG_BOUNDS)
        """By the task's name; the code is the state of one that did not succeed."""
        self.running: Final = Inflight(time.monotonic)
        self.last_ended: Final[dict[str, float]] = {}
        """Unix seconds by the task's name."""

    def reset(self) -> None:
        """Begin anew in a process that was forked."""
        self.durations.reset()
        self.last_ended.clear()


class Sources:
    """All of one process; `SOURCES` is this one's."""

    def __init__(self) -> None:
        self.calls: Final[dict[str, Tally]] = {}
        """By the interface: "C", "P", "info", …"""
        self.replies: Final[dict[str, Replies]] = {}
        """Over HTTP, by the interface or by the page's path."""
        self.inflight: Final = Inflight(time.monotonic)
        """Calls that run in threads, of all interfaces."""
        self.statements: Final = Tally()
        """Statements of the database by their first word; the code is the error's class."""
        self.connections: Final = Tally(())
        """Connections to the database that were opened."""
        self.blocks: Final = Tally(LONG_BOUNDS)
        """Blocks that were made, or checked and accepted, by the letter of their chain."""
        self.tasks: Final = Tasks()
        self.workers: Workers | None = None
        self.hub: Hub | None = None
        self.http_connections: Callable[[], int | None] = lambda: None
        self.caches: Callable[[], Mapping[str, CacheState]] | None = None
        self.checks: Callable[[], list[CheckState]] | None = None

    def tally(self, interface: str) -> Tally:
        """Return what counts the calls of an interface."""
        return self.calls.setdefault(interface, Tally())

    def replies_of(self, name: str) -> Replies:
        """Return what counts the replies of an interface, or on a page."""
        return self.replies.setdefault(name, Replies())

    def router(self) -> tuple[int, float]:
        """Return how many calls this process has not answered, and for how long the oldest one.

        Those that wait for a thread are among them.
        """
        running = len(self.inflight), self.inflight.longest_seconds()
        if self.workers is None:
            return running
        waiting = self.workers.pending, self.workers.longest_seconds()
        return max(running[0], waiting[0]), max(running[1], waiting[1])

    def reset(self) -> None:
        """Begin anew in a process that was forked: its parent shows what was counted before."""
        for tally in (*self.calls.values(), self.statements, self.connections, self.blocks):
            tally.reset()
        for replies in self.replies.values():
            replies.reset()
        self.tasks.reset()


SOURCES: Final = Sources()
