"""The pool of connections to PostgreSQL that this process has; SQLite has none."""

from collections.abc import Iterator
from typing import Any, Final

from django.db import connections

from health_app.metrics.figures import Family, Figure, Kind

_CONNECTIONS: Final = Family(
    "database_pool_connections", "Connections of the pools, by what they do.", labels=("state",)
)
_WAITING: Final = Family("database_pool_waiting", "Threads that wait for a connection.")
_REQUESTS: Final = Family(
    "database_pool_requests", "Connections that threads asked a pool for.", Kind.COUNTER
)
_QUEUED: Final = Family(
    "database_pool_requests_queued", "Connections that a thread had to wait for.", Kind.COUNTER
)
_WAITED: Final = Family(
    "database_pool_wait_seconds", "Time that threads waited for connections.", Kind.COUNTER
)
_FAILED: Final = Family(
    "database_pool_requests_failed", "Connections that no thread got in time.", Kind.COUNTER
)
_LOST: Final = Family(
    "database_pool_connections_lost", "Connections that were found to be broken.", Kind.COUNTER
)


def read() -> Iterator[Figure]:
    """Walk the figures of the pool, where there is one that was used."""
    for pool in _pools():
        stats: dict[str, int] = pool.get_stats()
        idle = stats.get("pool_available", 0)
        yield _CONNECTIONS.of(idle, "idle")
        yield _CONNECTIONS.of(stats.get("pool_size", 0) - idle, "used")
        yield _WAITING.of(stats.get("requests_waiting", 0))
        yield _REQUESTS.of(stats.get("requests_num", 0))
        yield _QUEUED.of(stats.get("requests_queued", 0))
        yield _WAITED.of(stats.get("requests_wait_ms", 0) / 1000)
        yield _FAILED.of(stats.get("requests_errors", 0))
        yield _LOST.of(stats.get("connections_lost", 0))


def _pools() -> list[Any]:
    """Return the pools that this process has opened: asking for one by Django's way would open it."""
    wrapper: Any = type(connections["default"])
    opened: dict[str, Any] = getattr(wrapper, "_connection_pools", {})
    return list(opened.values())
