"""Shows this process to monitoring: how its health is, and what it has that counts, or can be asked."""

from collections.abc import Collection, Mapping
from functools import cache
from typing import Any, Final

from django.conf import settings
from django.core.cache import caches

from cchain_app.apps import evm_chain
from cchain_app.blocks.bloom import bloom_bits
from chaindb import building, servers
from health_app.checks import ALL, TAGS, table
from health_app.history import History
from health_app.metrics.exposition import Page
from health_app.metrics.listeners import StatementListener, TaskListener
from health_app.metrics.process import CacheState, ProcessMetrics
from health_app.metrics.rows import Reader, parts
from health_app.metrics.sharing import Alone, Shared
from health_app.reporter import SHORTEST_INTERVAL, WARM_UP, Reporter
from health_app.result import CheckResult
from health_app.writing import HOLD, Writes
from jsonrpc.direct import DirectProtocol
from jsonrpc.hub import Hub
from jsonrpc.workers import Workers
from nodeproject.memory_cache import MemoryCache
from nodeproject.rpc import platform_rpc
from platform_app.apps import platform_chain
from primitives.counting import Asked

_REMEMBERING: Final[dict[str, Any]] = {
    "cchain_bloom_bits": bloom_bits,
}
"""Functions with an `lru_cache`."""


@cache
def metrics() -> ProcessMetrics:
    """Return what this process counts into."""
    return ProcessMetrics()


@cache
def processes() -> Alone | Shared:
    """Return those that count together with this one, where there are several."""
    directory = settings.METRICS_DIRECTORY
    return Alone(metrics()) if directory is None else Shared(metrics(), directory)


@cache
def page() -> Page:
    """Return the page for Prometheus."""
    return Page(processes(), Reader(parts()), check_results)


@cache
def writes() -> Writes:
    """Return what the writes of this process have come to."""
    return Writes(max(HOLD, 2 * _health_interval()))


@cache
def reporter() -> Reporter:
    """Return what runs this process's health checks, and writes changes to the history."""
    history = History(writes=writes())
    return Reporter(
        table(processes().router, writes()),
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
    StatementListener(metrics()).connect()
    TaskListener(metrics(), processes(), writes()).connect()
    building.observe(metrics().block)
    metrics().caches = _cache_states


def observe_web(workers: Workers, hub: Hub) -> None:
    """Count what a process with a web server has besides, and tell the others of it."""
    observe_work()
    own = metrics()
    own.workers, own.hub = workers, hub
    own.http_connections = DirectProtocol.open_connections
    processes().start()


def observe_network() -> None:
    """Count what the network's own process does."""
    _observe("network")


def observe_producer() -> None:
    """Count what the process does that makes blocks."""
    _observe("producer")


def observe_beat() -> None:
    """Count what the process does that sends tasks by the clock."""
    _observe("beat")


def observe_worker() -> None:
    """Count what a worker does; its processes are forked later, and start with their first task."""
    processes().enrol("worker")
    observe_work()


def check_results() -> tuple[Mapping[str, CheckResult], Mapping[str, Collection[str]]]:
    """Return how the health checks of this process came out, and their tags."""
    return reporter().health().checks, {name: tags | {ALL} for name, tags in TAGS.items()}


def _observe(role: str) -> None:
    processes().enrol(role)
    observe_work()
    processes().start()


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
    rpc = platform_rpc()
    remembering = _REMEMBERING | {
        "platform_ids": rpc.id_text,
        "platform_node_ids": rpc.node_text,
    }
    for name, function in remembering.items():
        known = function.cache_info()
        states[name] = CacheState(known.currsize, known.hits, known.misses)
    return states


def _state(entries: int, asked: Asked) -> CacheState:
    return CacheState(entries, asked.hits.read(), asked.misses.read())
