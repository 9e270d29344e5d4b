"""What one process has counted, and how it is now, as figures."""

import gc
import math
import threading
import time
from collections.abc import Iterator
from typing import Final

from health_app.metrics import pools
from health_app.metrics.figures import Across, Family, Figure, Kind
from health_app.metrics.sources import LONG_BOUNDS, Sources
from jsonrpc.calls import NOT_EXECUTED

_CALLS: Final = Family(
    "api_calls",
    "JSON-RPC calls by interface and method. Not executed were: unknown (no such method), refused "
    "(unreadable or not allowed), limited, overloaded, late.",
    Kind.COUNTER,
    ("api", "method"),
)
_CALL_ERRORS: Final = Family(
    "api_errors",
    "JSON-RPC calls that were answered with an error, by its code.",
    Kind.COUNTER,
    ("api", "method", "code"),
)
_CALL_DURATION: Final = Family(
    "api_call_duration_seconds",
    "Time in which JSON-RPC calls were executed.",
    Kind.HISTOGRAM,
    ("api", "method"),
)
CALLS_PROCESSING: Final = Family(
    "api_calls_processing", "JSON-RPC calls that run in threads or wait for one."
)
OLDEST_CALL: Final = Family(
    "api_oldest_call_started_seconds",
    "When the oldest call came that is not answered, by the machine's monotonic clock.",
    across=Across.LEAST,
)
LONGEST_CALL: Final = Family(
    "api_longest_call_seconds",
    "For how long the oldest JSON-RPC call has been running, or waiting for a thread.",
)
_REQUESTS: Final = Family(
    "http_requests",
    "Requests over HTTP by the interface or page they were for, and the reply's status; those that "
    "Django answers are in svc_django_http_responses_total_by_status_total.",
    Kind.COUNTER,
    ("api", "method", "status"),
)
_HTTP_CONNECTIONS: Final = Family("http_connections", "Open HTTP connections of clients.")
_SOCKETS: Final = Family("websocket_connections", "Open WebSocket connections.")
_SUBSCRIPTIONS: Final = Family(
    "websocket_subscriptions", "Subscriptions of WebSocket clients.", labels=("kind",)
)
_STATEMENTS: Final = Family(
    "database_statement_duration_seconds",
    "Time that statements of the database took, by their first word.",
    Kind.HISTOGRAM,
    ("statement",),
)
_STATEMENT_ERRORS: Final = Family(
    "database_errors",
    "Statements of the database that failed.",
    Kind.COUNTER,
    ("statement", "error"),
)
_CONNECTIONS: Final = Family(
    "database_connections_opened",
    "Connections to the database that threads opened or took from the pool.",
    Kind.COUNTER,
)
_BLOCKS: Final = Family(
    "block_processing_duration_seconds",
    "Time in which this node made blocks, or checked and accepted those of others.",
    Kind.HISTOGRAM,
    ("chain",),
    bounds=LONG_BOUNDS,
)
_TASK_DURATION: Final = Family(
    "celery_task_duration_seconds",
    "Time that background tasks took.",
    Kind.HISTOGRAM,
    ("task",),
    bounds=LONG_BOUNDS,
)
_TASKS: Final = Family(
    "celery_tasks", "Background tasks by how they ended.", Kind.COUNTER, ("task", "outcome")
)
_TASKS_RUNNING: Final = Family("celery_tasks_running", "Background tasks that run now.")
_TASK_ENDED: Final = Family(
    "celery_task_last_ended_timestamp_seconds",
    "When a background task ended last.",
    labels=("task",),
    across=Across.LATEST,
)
_CACHE_ENTRIES: Final = Family(
    "cache_entries", "Entries in the memory of processes.", labels=("cache",)
)
_CACHE_HITS: Final = Family(
    "cache_hits", "Questions that a cache in memory answered.", Kind.COUNTER, ("cache",)
)
_CACHE_MISSES: Final = Family(
    "cache_misses", "Questions that a cache in memory could not answer.", Kind.COUNTER, ("cache",)
)
_THREADS: Final = Family("python_threads", "Threads of the interpreter.")
_GC_COLLECTIONS: Final = Family(
    "python_gc_collections", "Runs of the garbage collector.", Kind.COUNTER, ("generation",)
)
_GC_OBJECTS: Final = Family(
    "python_gc_collected_objects",
    "Objects that the garbage collector freed.",
    Kind.COUNTER,
    ("generation",),
)


def read(sources: Sources) -> Iterator[Figure]:
    """Walk all that a process knows of itself."""
    yield from _calls(sources)
    yield from _doors(sources)
    yield from _database(sources)
    yield from _work(sources)
    yield from _caches(sources)
    yield from _python()


def _calls(sources: Sources) -> Iterator[Figure]:
    for interface, tally in sources.calls.copy().items():
        counted = tally.read()
        for method, durations in counted.durations.items():
            yield _CALLS.of(durations.number, interface, method)
            if method not in NOT_EXECUTED:
                yield _CALL_DURATION.took(durations, interface, method)
        for (method, code), number in counted.errors.items():
            yield _CALL_ERRORS.of(number, interface, method, str(code))
    waiting, longest = sources.router()
    yield CALLS_PROCESSING.of(waiting)
    yield OLDEST_CALL.of(time.monotonic() - longest if longest else math.inf)


def _doors(sources: Sources) -> Iterator[Figure]:
    for interface, replies in sources.replies.copy().items():
        for (method, status), number in replies.read().items():
            yield _REQUESTS.of(number, interface, method, str(status))
    connections = sources.http_connections()
    if connections is not None:
        yield _HTTP_CONNECTIONS.of(connections)
    if sources.hub is not None:
        yield _SOCKETS.of(sources.hub.connections)
        for topic, number in sources.hub.counts().items():
            yield _SUBSCRIPTIONS.of(number, topic)


def _database(sources: Sources) -> Iterator[Figure]:
    counted = sources.statements.read()
    for statement, durations in counted.durations.items():
        yield _STATEMENTS.took(durations, statement)
    for (statement, error), number in counted.errors.items():
        yield _STATEMENT_ERRORS.of(number, statement, str(error))
    for durations in sources.connections.read().durations.values():
        yield _CONNECTIONS.of(durations.number)
    yield from pools.read()


def _work(sources: Sources) -> Iterator[Figure]:
    for chain, durations in sources.blocks.read().durations.items():
        yield _BLOCKS.took(durations, chain)
    tasks = sources.tasks
    counted = tasks.durations.read()
    for task, durations in counted.durations.items():
        yield _TASK_DURATION.took(durations, task)
        failed = {str(how): n for (name, how), n in counted.errors.items() if name == task}
        yield _TASKS.of(durations.number - sum(failed.values()), task, "success")
        for outcome, number in failed.items():
            yield _TASKS.of(number, task, outcome)
    yield _TASKS_RUNNING.of(len(tasks.running))
    for task, moment in tasks.last_ended.copy().items():
        yield _TASK_ENDED.of(moment, task)


def _caches(sources: Sources) -> Iterator[Figure]:
    states = {} if sources.caches is None else sources.caches()
    for name, state in states.items():
        yield _CACHE_ENTRIES.of(state.entries, name)
        yield _CACHE_HITS.of(state.hits, name)
        yield _CACHE_MISSES.of(state.misses, name)


def _python() -> Iterator[Figure]:
    yield _THREADS.of(threading.active_count())
    for generation, stats in enumerate(gc.get_stats()):
        yield _GC_COLLECTIONS.of(stats["collections"], str(generation))
        yield _GC_OBJECTS.of(stats["collected"], str(generation))
