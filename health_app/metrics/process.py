"""The metrics of one process. Parts of the process register their sources here.

Calls, replies and statements are counted by `jsonrpc.dispatch.tally` and `jsonrpc.dispatch.inflight`, because the client library's
histogram costs six times as much, and more if processes share a directory. `update` copies their counts to the
library's instruments. Rarer events are counted in the instruments directly.
"""

import gc
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from django.db import connections

from health_app.metrics.instruments import Instruments
from jsonrpc.dispatch.calls import NOT_EXECUTED
from jsonrpc.dispatch.inflight import Inflight, Replies
from jsonrpc.dispatch.tally import Tally
from jsonrpc.dispatch.workers import Workers
from jsonrpc.websocket.hub import Hub

LONG_BOUNDS: Final = (
    0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0,
)  # fmt: skip
"""Upper bounds, in seconds, for tasks and blocks."""

OTHER: Final = "other"
"""Label of requests that are for no interface and no page of this node."""


class CacheState(NamedTuple):
    """Size and hit counts of a cache."""

    entries: int
    hits: int
    misses: int


class ProcessMetrics:
    """The tallies and instruments of one process."""

    def __init__(self) -> None:
        self.instruments = Instruments()
        self.inflight: Final = Inflight(time.monotonic)
        """Calls of all interfaces that run in threads."""
        self.statements: Final = Tally()
        """Database statements by their first word; the code is the class name of the error."""
        self.workers: Workers | None = None
        self.hubs: tuple[Hub, ...] = ()
        """The WebSocket connections of each EVM chain."""
        self.http_connections: Callable[[], int | None] = lambda: None
        self.caches: Callable[[], Mapping[str, CacheState]] = dict
        self.is_listening = False
        """Whether Django's and Celery's signals are already connected (`listeners`)."""
        self._calls: Final[dict[str, Tally]] = {}
        self._replies: Final[dict[str, Replies]] = {}
        self._topics: Final[set[str]] = set()
        """Kinds of all subscriptions since the start, so that a kind without subscriptions shows 0."""
        self._lock = threading.Lock()

    def tally(self, interface: str) -> Tally:
        """Return the tally of the calls of an interface, such as "C", "P" or "info"."""
        return self._calls.setdefault(interface, Tally())

    def replies_of(self, name: str) -> Replies:
        """Return the counter of HTTP replies of an interface, or of a page by its path."""
        return self._replies.setdefault(name, Replies())

    def block(self, chain: str, seconds: float) -> None:
        """Count a block that was made, or verified and accepted, by the name of its chain."""
        histogram = self.instruments.histogram(
            "block_processing_duration_seconds", LONG_BOUNDS, chain=chain
        )
        histogram.observe(seconds)

    def router(self) -> tuple[int, float]:
        """Return how many calls this process has not answered, and how long the oldest one has been running.

        Calls that wait for a thread are included.
        """
        running = len(self.inflight), self.inflight.longest_seconds()
        if self.workers is None:
            return running
        waiting = self.workers.pending, self.workers.longest_seconds()
        return max(running[0], waiting[0]), max(running[1], waiting[1])

    def update(self) -> None:
        """Update the instruments with the counts and with the current state of caches, pools and connections."""
        with self._lock:
            self._update_calls()
            self._update_endpoints()
            self._update_database()
            self._update_memory()

    def reset(self) -> None:
        """Reset all counts after a fork, because the parent process reports them."""
        self._lock = threading.Lock()
        self.instruments = Instruments()
        for tally in (*self._calls.values(), self.statements):
            tally.reset()
        for replies in self._replies.values():
            replies.reset()

    def _update_calls(self) -> None:
        show = self.instruments
        for api, tally in self._calls.copy().items():
            counted = tally.read()
            for method, durations in counted.durations.items():
                show.counter("api_calls", api=api, method=method).reach(durations.number)
                if method not in NOT_EXECUTED:
                    show.histogram("api_call_duration_seconds", api=api, method=method).reach(
                        durations
                    )
            for (method, code), number in counted.errors.items():
                show.counter("api_errors", api=api, method=method, code=str(code)).reach(number)
        show.gauge("api_calls_processing").set(self.router()[0])

    def _update_endpoints(self) -> None:
        show = self.instruments
        for api, replies in self._replies.copy().items():
            for (method, status), number in replies.read().items():
                show.counter("http_requests", api=api, method=method, status=str(status)).reach(
                    number
                )
        connected = self.http_connections()
        if connected is not None:
            show.gauge("http_connections").set(connected)
        if not self.hubs:
            return
        show.gauge("websocket_connections").set(sum(item.connections for item in self.hubs))
        subscriptions: Counter[str] = Counter()
        for hub in self.hubs:
            subscriptions.update(hub.counts())
        self._topics.update(subscriptions)
        for topic in self._topics:
            show.gauge("websocket_subscriptions", kind=topic).set(subscriptions.get(topic, 0))

    def _update_database(self) -> None:
        show, counted = self.instruments, self.statements.read()
        for statement, durations in counted.durations.items():
            show.histogram("database_statement_duration_seconds", statement=statement).reach(
                durations
            )
        for (statement, error), number in counted.errors.items():
            show.counter("database_errors", statement=statement, error=str(error)).reach(number)
        for stats in (pool.get_stats() for pool in _pools()):
            idle = stats.get("pool_available", 0)
            show.gauge("database_pool_connections", state="idle").set(idle)
            used = stats.get("pool_size", 0) - idle
            show.gauge("database_pool_connections", state="used").set(used)
            show.gauge("database_pool_waiting").set(stats.get("requests_waiting", 0))
            waited = stats.get("requests_wait_ms", 0) / 1000
            show.counter("database_pool_wait_seconds").reach(waited)
            for name, stat in _POOL_TOTALS.items():
                show.counter(name).reach(stats.get(stat, 0))

    def _update_memory(self) -> None:
        show = self.instruments
        for name, state in self.caches().items():
            show.gauge("cache_entries", cache=name).set(state.entries)
            show.counter("cache_hits", cache=name).reach(state.hits)
            show.counter("cache_misses", cache=name).reach(state.misses)
        show.gauge("python_threads").set(threading.active_count())
        for number, stats in enumerate(gc.get_stats()):
            generation = str(number)
            collections = show.counter("python_gc_collections", generation=generation)
            collections.reach(stats["collections"])
            objects = show.counter("python_gc_collected_objects", generation=generation)
            objects.reach(stats["collected"])


_POOL_TOTALS: Final = {
    "database_pool_requests": "requests_num",
    "database_pool_requests_queued": "requests_queued",
    "database_pool_requests_failed": "requests_errors",
    "database_pool_connections_lost": "connections_lost",
}
"""Names of psycopg's pool statistics."""


def _pools() -> list[Any]:
    """Return the pools that this process has opened; Django's own accessor would open a new one."""
    wrapper: Any = type(connections["default"])
    opened: dict[str, Any] = getattr(wrapper, "_connection_pools", {})
    return list(opened.values())
