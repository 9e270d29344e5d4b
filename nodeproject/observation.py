"""Shows this process to monitoring: how its health is, and what it has that counts, or can be asked."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from django.conf import settings
from django.core.cache import caches

from cchain_app.api.subscriptions import hub
from cchain_app.apps import evm_chain
from cchain_app.blocks.bloom import bloom_bits
from chaindb import building, servers
from health_app import metrics
from health_app.checks import ALL, TAGS, table
from health_app.history import History
from health_app.metrics import SOURCES, celery_tasks, statements
from health_app.metrics.sources import CacheState, CheckState
from health_app.reporter import SHORTEST_INTERVAL, WARM_UP, Reporter
from health_app.writing import HOLD, Writes
from jsonrpc.direct import DirectProtocol
from jsonrpc.workers import Workers
from nodeproject.memory_cache import MemoryCache
from platform_app.api import wire
from platform_app.apps import platform_chain
from primitives.counting import Asked

_NANOSECONDS: Final = 1_000_000_000


_REMEMBERING: Final[Mapping[str, Any]] = {
    "cchain_bloom_bits": bloom_bits,
    "platform_ids": wire.id_text,
    "platform_node_ids": wire.node_text,
}
"""Functions with an `lru_cache`."""


@cache
def writes() -> Writes:
    """Return what the writes of this process have come to."""
    return Writes(max(HOLD, 2 * _health_interval()))


@cache
def reporter() -> Reporter:
    """Return what runs this process's health checks, and writes changes to the history."""
    history = History(writes=writes())
    return Reporter(
        table(metrics.router, writes()),
        changed=history.note,
        begin=history.probe,
        outages=servers.outages,
        interval=_health_interval(),
        warm_up=WARM_UP,
    )


def _health_interval() -> float:
    return max(SHORTEST_INTERVAL, settings.NODE.health_interval)


@cache
def observe_work() -> None:
    """Count statements, tasks and blocks of this process; once, in whatever process."""
    statements.connect()
    celery_tasks.connect(writes())
    building.observe(SOURCES.blocks.observe)
    SOURCES.caches = _cache_states


def observe_web(workers: Workers) -> None:
    """Count what a process with a web server has besides, and tell the others of it."""
    observe_work()
    SOURCES.workers = workers
    SOURCES.hub = hub()
    SOURCES.http_connections = DirectProtocol.open_connections
    SOURCES.checks = check_states
    metrics.start("web")


def observe_network() -> None:
    """Count what the network's own process does."""
    observe_work()
    metrics.start("network")


def observe_producer() -> None:
    """Count what the process does that makes blocks."""
    observe_work()
    metrics.start("producer")


def observe_beat() -> None:
    """Count what the process does that sends tasks by the clock."""
    observe_work()
    metrics.start("beat")


def check_states() -> list[CheckState]:
    """Return how the health checks of this process came out."""
    return [
        CheckState(
            name=name,
            tags=TAGS[name] | {ALL},
            fails=not result.healthy,
            seconds=result.duration / _NANOSECONDS,
            contiguous_failures=result.contiguous_failures,
        )
        for name, result in reporter().health().checks.items()
    ]


def _cache_states() -> dict[str, CacheState]:
    """Return how the caches in this process's memory are; those in Redis are not its own."""
    states = {
        f"cchain_{name}": _state(kept.entries, kept.asked)
        for name, kept in evm_chain().memory.kept().items()
    }
    for name, memory in platform_chain().stakers._asdict().items():
        states[f"platform_{name}"] = CacheState(len(memory), memory.hits, memory.misses)
    for alias in caches:
        cache: Any = caches[alias]
        if isinstance(cache, MemoryCache):
            states[f"django_{alias}"] = _state(len(cache), cache.asked)
    for name, function in _REMEMBERING.items():
        known = function.cache_info()
        states[name] = CacheState(known.currsize, known.hits, known.misses)
    return states


def _state(entries: int, asked: Asked) -> CacheState:
    return CacheState(entries, asked.hits.read(), asked.misses.read())
