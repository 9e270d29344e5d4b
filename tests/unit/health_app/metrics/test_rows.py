"""Reading rows must not block monitoring, and the failure of one part must not hide the others."""

import threading
from collections.abc import Iterator

import pytest
from django.db import OperationalError, ProgrammingError
from prometheus_client.core import Metric

from health_app.metrics.exposition import RowCounts
from health_app.metrics.instruments import gauge


def works() -> Iterator[Metric]:
    yield gauge("chain_height", 7)


def away() -> Iterator[Metric]:
    yield gauge("chain_height", 1)
    raise OperationalError("connection refused")


def wrong() -> Iterator[Metric]:
    raise ProgrammingError("no such column")
    yield


def stop() -> Iterator[Metric]:
    raise SystemExit
    yield


def shown(metrics: list[Metric]) -> dict[str, float]:
    return {
        "/".join((sample.name, *sample.labels.values())): sample.value
        for metric in metrics
        for sample in metric.samples
        if metric.name != "svc_scrape_duration_seconds"
    }


def test_all_parts_are_read() -> None:
    assert shown(RowCounts([("a", works), ("b", lambda: iter(()))]).read()) == {
        "svc_chain_height": 7,
        "svc_scrape_success/a": 1,
        "svc_scrape_success/b": 1,
        "svc_database_up": 1,
    }


def test_failing_part_does_not_hide_others(caplog: pytest.LogCaptureFixture) -> None:
    assert shown(RowCounts([("a", wrong), ("b", works)]).read()) == {
        "svc_scrape_success/a": 0,
        "svc_chain_height": 7,
        "svc_scrape_success/b": 1,
        "svc_database_up": 1,
    }
    assert [record.exc_info is not None for record in caplog.records] == [True]


def test_unavailable_database_is_queried_once() -> None:
    asked = []

    def ask() -> Iterator[Metric]:
        asked.append(1)
        yield from works()

    assert shown(RowCounts([("a", away), ("b", ask)]).read()) == {
        "svc_scrape_success/a": 0,
        "svc_scrape_success/b": 0,
        "svc_database_up": 0,
    }
    assert asked == []


def test_only_changes_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    ways = [away, away, away, works, away]

    def change() -> Iterator[Metric]:
        yield from ways.pop(0)()

    reader = RowCounts([("a", change)])
    for _ in range(3):
        reader.read()
    assert [record.getMessage() for record in caplog.records] == [
        "metrics of a cannot be read: connection refused"
    ]
    reader.read()
    reader.read()
    assert len(caplog.records) == 2


def test_hanging_database_counts_as_unavailable_and_is_queried_once() -> None:
    go_on, begun, entered = threading.Event(), [], threading.Event()

    def hang() -> Iterator[Metric]:
        begun.append(1)
        entered.set()
        go_on.wait(60)
        yield from works()

    hanging = RowCounts([("a", hang)], seconds=0.01)
    assert shown(hanging.metrics()) == shown(hanging.metrics()) == {"svc_database_up": 0}
    assert entered.wait(60)
    assert len(begun) == 1
    patient = RowCounts([("a", hang)], seconds=60)
    go_on.set()
    for _ in range(2):
        assert shown(patient.metrics())["svc_chain_height"] == 7
    assert len(begun) == 3


def test_one_thread_reads_for_all_requests_even_after_an_unexpected_error() -> None:
    threads, ways = [], [works, stop, works]

    def change() -> Iterator[Metric]:
        threads.append(threading.current_thread())
        yield from ways.pop(0)()

    reader = RowCounts([("a", change)], seconds=60)
    assert shown(reader.metrics())["svc_chain_height"] == 7
    with pytest.raises(SystemExit):
        reader.metrics()
    assert shown(reader.metrics())["svc_chain_height"] == 7
    assert len(set(threads)) == 1
    assert threads[0] is not threading.current_thread()
