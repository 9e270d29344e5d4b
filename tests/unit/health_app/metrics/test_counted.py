"""What a process says of itself, from what it has counted."""

import math
from typing import Any

import pytest

from health_app.metrics import counted
from health_app.metrics.figures import Across, Figure
from health_app.metrics.sources import CacheState, Sources
from jsonrpc.hub import Hub


class Socket:
    """A socket that hears nothing."""

    def push(self, text: str) -> None:
        """Take no notice."""

    def is_gone(self) -> bool:
        """Return that it is there."""
        return False


class Busy:
    """Threads with jobs."""

    pending = 5

    def longest_seconds(self) -> float:
        return 70.0


@pytest.fixture
def sources() -> Sources:
    return Sources()


def values(sources: Sources, name: str) -> dict[tuple[str, ...], Any]:
    return {one.labels: one.value for one in counted.read(sources) if one.family.name == name}


def figure(sources: Sources, name: str) -> Figure:
    (found,) = (one for one in counted.read(sources) if one.family.name == name)
    return found


def test_calls_count_by_interface_and_method(sources: Sources) -> None:
    sources.tally("C").observe("eth_chainId", 0.5)
    sources.tally("C").observe("eth_chainId", 0.5, -32000)
    sources.tally("P").observe("platform.getHeight", 0.5)
    assert values(sources, "api_calls") == {
        ("C", "eth_chainId"): 2,
        ("P", "platform.getHeight"): 1,
    }
    assert values(sources, "api_errors") == {("C", "eth_chainId", "-32000"): 1}
    assert values(sources, "api_call_duration_seconds")["C", "eth_chainId"].seconds == 1.0


def test_what_was_not_executed_has_no_duration(sources: Sources) -> None:
    sources.tally("C").observe("unknown", 0.0, -32601)
    sources.tally("C").observe("refused", 0.0, -32700)
    assert set(values(sources, "api_calls")) == {("C", "unknown"), ("C", "refused")}
    assert values(sources, "api_call_duration_seconds") == {}


def test_calls_that_wait_for_a_thread_are_being_answered_too(sources: Sources) -> None:
    assert sources.router() == (0, 0.0)
    sources.inflight.begin("eth_call")
    assert sources.router()[0] == 1
    sources.workers = Busy()  # type: ignore[assignment]
    outstanding, longest = sources.router()
    assert outstanding == 5
    assert longest == 70.0
    assert values(sources, "api_calls_processing") == {(): 5}


def test_the_oldest_call_of_all_processes_began_first(sources: Sources) -> None:
    idle = figure(sources, "api_oldest_call_started_seconds")
    assert (idle.value, idle.family.across) == (math.inf, Across.LEAST)
    sources.inflight.begin("eth_call")
    busy = figure(sources, "api_oldest_call_started_seconds")
    assert busy.value < math.inf


def test_requests_count_by_what_they_were_for(sources: Sources) -> None:
    sources.replies_of("C").answered()
    sources.replies_of("C").answered()
    sources.replies_of("C").count("POST", 413)
    sources.replies_of("health/readiness").count("GET", 503)
    sources.replies_of("other").count("BREW", 404)
    assert values(sources, "http_requests") == {
        ("C", "POST", "200"): 2,
        ("C", "POST", "413"): 1,
        ("health/readiness", "GET", "503"): 1,
        ("other", "other", "404"): 1,
    }


def test_sockets_and_what_they_listen_to(sources: Sources) -> None:
    assert values(sources, "websocket_connections") == {}
    sources.hub = hub = Hub()
    sources.http_connections = lambda: 3
    first, second = Socket(), Socket()
    for socket in (first, second):
        hub.connect(socket)
        hub.activate(hub.open(socket, "newHeads"))
    hub.activate(hub.open(first, "logs"))
    assert values(sources, "websocket_connections") == {(): 2}
    assert values(sources, "websocket_subscriptions") == {("newHeads",): 2, ("logs",): 1}
    assert values(sources, "http_connections") == {(): 3}
    hub.disconnect(first)
    assert values(sources, "websocket_subscriptions") == {("newHeads",): 1}


def test_tasks_count_by_how_they_ended(sources: Sources) -> None:
    tasks = sources.tasks
    tasks.durations.observe("tick", 0.1)
    tasks.durations.observe("tick", 0.1)
    tasks.durations.observe("tick", 0.1, "failure")
    tasks.last_ended["tick"] = 1234.5
    tasks.running.begin("tick")
    assert values(sources, "celery_tasks") == {("tick", "success"): 2, ("tick", "failure"): 1}
    assert values(sources, "celery_task_duration_seconds")["tick",].number == 3
    assert values(sources, "celery_task_last_ended_timestamp_seconds") == {("tick",): 1234.5}
    assert values(sources, "celery_tasks_running") == {(): 1}


def test_caches_say_what_they_know(sources: Sources) -> None:
    sources.caches = lambda: {"one": CacheState(7, 0, 8), "other": CacheState(1, 20, 30)}
    assert values(sources, "cache_entries") == {("one",): 7, ("other",): 1}
    assert values(sources, "cache_hits") == {("one",): 0, ("other",): 20}
    assert values(sources, "cache_misses") == {("one",): 8, ("other",): 30}


def test_a_forked_process_begins_anew(sources: Sources) -> None:
    sources.tally("C").observe("eth_chainId", 0.5, -1)
    sources.statements.observe("select", 0.1)
    sources.blocks.observe("C", 0.1)
    sources.tasks.durations.observe("tick", 0.1)
    sources.replies_of("C").answered()
    sources.reset()
    for name in (
        "api_calls", "http_requests", "api_errors", "database_statement_duration_seconds",
        "block_processing_duration_seconds", "celery_tasks",
    ):  # fmt: skip
        assert values(sources, name) == {}
    sources.replies_of("C").answered()
    assert values(sources, "http_requests") == {("C", "POST", "200"): 1}
