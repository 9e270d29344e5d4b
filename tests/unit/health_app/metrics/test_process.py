"""The metrics of a process, from its own counts."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from health_app.metrics import process as processes
from health_app.metrics.process import CacheState, ProcessMetrics
from jsonrpc.websocket.hub import Hub


class Socket:
    """A socket that discards everything."""

    def push(self, text: bytes) -> None:
        """Discard the text."""

    def push_all(self, begin: bytes, middles: Sequence[bytes | memoryview], end: bytes) -> None:
        """Discard the texts."""

    def is_gone(self) -> bool:
        """Return false, because the client is connected."""
        return False

    async def close(self, code: int, reason: str) -> None:
        """Close nothing."""


class Busy:
    """Threads with running jobs."""

    pending = 5

    def longest_seconds(self) -> float:
        return 70.0


@pytest.fixture
def process() -> ProcessMetrics:
    return ProcessMetrics()


def values(process: ProcessMetrics, name: str) -> dict[tuple[str, ...], float]:
    """Return the values of a metric by the values of their labels, ordered by label name."""
    process.update()
    return {
        tuple(sample.labels[label] for label in sorted(sample.labels)): sample.value
        for metric in process.instruments.registry.collect()
        for sample in metric.samples
        if sample.name == f"svc_{name}"
    }


def test_calls_count_by_interface_and_method(process: ProcessMetrics) -> None:
    process.tally("C").observe("eth_chainId", 0.5)
    process.tally("C").observe("eth_chainId", 0.5, -32000)
    process.tally("P").observe("platform.getHeight", 0.5)
    assert values(process, "api_calls_total") == {
        ("C", "eth_chainId"): 2,
        ("P", "platform.getHeight"): 1,
    }
    assert values(process, "api_errors_total") == {("C", "-32000", "eth_chainId"): 1}
    assert values(process, "api_call_duration_seconds_sum")["C", "eth_chainId"] == 1.0


def test_refused_call_has_no_duration(process: ProcessMetrics) -> None:
    process.tally("C").observe("unknown", 0.0, -32601)
    process.tally("C").observe("refused", 0.0, -32700)
    assert set(values(process, "api_calls_total")) == {("C", "unknown"), ("C", "refused")}
    assert values(process, "api_call_duration_seconds_count") == {}


def test_calls_that_wait_for_a_thread_are_being_answered_too(process: ProcessMetrics) -> None:
    assert process.router() == (0, 0.0)
    process.inflight.begin("eth_call")
    assert process.router()[0] == 1
    process.workers = Busy()  # type: ignore[assignment]
    assert process.router() == (5, 70.0)
    assert values(process, "api_calls_processing") == {(): 5}


def test_requests_are_counted_by_endpoint(process: ProcessMetrics) -> None:
    process.replies_of("C").answered()
    process.replies_of("C").answered()
    process.replies_of("C").count("POST", 413)
    process.replies_of("health/readiness").count("GET", 503)
    process.replies_of("other").count("BREW", 404)
    assert values(process, "http_requests_total") == {
        ("C", "POST", "200"): 2,
        ("C", "POST", "413"): 1,
        ("health/readiness", "GET", "503"): 1,
        ("other", "other", "404"): 1,
    }


def test_websockets_are_counted_with_subscriptions(process: ProcessMetrics) -> None:
    for name in ("websocket_connections", "http_connections"):
        assert values(process, name) == {}, "this process has no web server"
    hub = Hub()
    process.hubs = (hub,)
    process.http_connections = lambda: 3
    first, second = Socket(), Socket()
    for socket in (first, second):
        hub.connect(socket)
        hub.activate(hub.open(socket, "newHeads"))
    hub.activate(hub.open(first, "logs"))
    assert values(process, "websocket_connections") == {(): 2}
    assert values(process, "websocket_subscriptions") == {("newHeads",): 2, ("logs",): 1}
    assert values(process, "http_connections") == {(): 3}
    hub.disconnect(first)
    assert values(process, "websocket_subscriptions") == {("newHeads",): 1, ("logs",): 0}


def test_blocks_count_by_their_chain(process: ProcessMetrics) -> None:
    process.block("P", 0.03)
    process.block("P", 20.0)
    assert values(process, "block_processing_duration_seconds_count") == {("P",): 2}
    ranges = values(process, "block_processing_duration_seconds_bucket")
    assert [ranges["P", le] for le in ("0.025", "0.05", "10.0", "30.0")] == [0, 1, 1, 2]


def test_cache_metrics_show_hits_and_misses(process: ProcessMetrics) -> None:
    process.caches = lambda: {"one": CacheState(7, 0, 8), "other": CacheState(1, 20, 30)}
    assert values(process, "cache_entries") == {("one",): 7, ("other",): 1}
    assert values(process, "cache_hits_total") == {("one",): 0, ("other",): 20}
    assert values(process, "cache_misses_total") == {("one",): 8, ("other",): 30}


def test_connection_pool_is_exported_if_present(
    process: ProcessMetrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert values(process, "database_pool_waiting") == {}
    stats: dict[str, Any] = {"pool_size": 5, "pool_available": 2, "requests_wait_ms": 1500}
    pool = SimpleNamespace(get_stats=lambda: stats)
    monkeypatch.setattr(processes, "_pools", lambda: [pool])
    assert values(process, "database_pool_connections") == {("idle",): 2, ("used",): 3}
    assert values(process, "database_pool_wait_seconds_total") == {(): 1.5}
    stats["requests_num"] = 7
    assert values(process, "database_pool_requests_total") == {(): 7}


def test_single_count_is_exported_once(process: ProcessMetrics) -> None:
    process.tally("C").observe("eth_chainId", 0.5, -1)
    process.statements.observe("select", 0.1, "OperationalError")
    process.replies_of("C").answered()
    for _ in range(2):
        for name in (
            "api_calls_total", "api_errors_total", "http_requests_total", "database_errors_total",
            "database_statement_duration_seconds_count",
        ):  # fmt: skip
            assert list(values(process, name).values()) == [1], name


def test_forked_process_restarts_its_counts(process: ProcessMetrics) -> None:
    process.tally("C").observe("eth_chainId", 0.5, -1)
    process.statements.observe("select", 0.1)
    process.block("C", 0.1)
    process.replies_of("C").answered()
    process.update()
    process.reset()
    for name in (
        "api_calls_total", "http_requests_total", "api_errors_total",
        "database_statement_duration_seconds_count", "block_processing_duration_seconds_count",
    ):  # fmt: skip
        assert values(process, name) == {}
    process.replies_of("C").answered()
    assert values(process, "http_requests_total") == {("C", "POST", "200"): 1}
