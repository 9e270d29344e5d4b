"""Reading rows must not hang monitoring, and what one part cannot say must not hide the others."""

import threading
from collections.abc import Iterator

import pytest
from django.db import OperationalError, ProgrammingError

from health_app.metrics import rows
from health_app.metrics.figures import Family, Figure
from health_app.metrics.rows import Reader

HEIGHT = Family("height", "Height.")


def works() -> Iterator[Figure]:
    yield HEIGHT.of(7)


def away() -> Iterator[Figure]:
    yield HEIGHT.of(1)
    raise OperationalError("connection refused")


def wrong() -> Iterator[Figure]:
    raise ProgrammingError("no such column")
    yield


def shown(figures: list[Figure]) -> dict[str, float]:
    return {
        "/".join((one.family.name, *one.labels)): float(one.value)
        for one in figures
        if one.family.name != "scrape_duration_seconds"
    }


@pytest.fixture(autouse=True)
def nothing_told() -> Iterator[None]:
    rows._failing.clear()
    yield
    rows._failing.clear()


def test_all_parts_are_read() -> None:
    assert shown(rows.read([("a", works), ("b", lambda: iter(()))])) == {
        "height": 7,
        "scrape_success/a": 1,
        "scrape_success/b": 1,
        "database_up": 1,
    }


def test_a_part_that_fails_hides_no_other_one(caplog: pytest.LogCaptureFixture) -> None:
    found = shown(rows.read([("a", wrong), ("b", works)]))
    assert found == {"scrape_success/a": 0, "height": 7, "scrape_success/b": 1, "database_up": 1}
    assert [record.exc_info is not None for record in caplog.records] == [True]


def test_a_database_that_is_away_is_asked_once() -> None:
    asked = []

    def ask() -> Iterator[Figure]:
        asked.append(1)
        yield from works()

    found = shown(rows.read([("a", away), ("b", ask)]))
    assert found == {"scrape_success/a": 0, "scrape_success/b": 0, "database_up": 0}
    assert asked == []


def test_the_log_tells_changes_only(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        rows.read([("a", away)])
    assert [record.getMessage() for record in caplog.records] == [
        "metrics: no figures of a: connection refused"
    ]
    rows.read([("a", works)])
    rows.read([("a", away)])
    assert len(caplog.records) == 2


def test_a_database_that_hangs_counts_as_away_and_is_asked_once() -> None:
    go_on, begun, entered = threading.Event(), [], threading.Event()

    def hang() -> list[Figure]:
        begun.append(1)
        entered.set()
        go_on.wait(60)
        return [HEIGHT.of(7)]

    reader = Reader(hang, seconds=0.01)
    assert shown(reader.figures()) == shown(reader.figures()) == {"database_up": 0}
    assert entered.wait(60)
    assert len(begun) == 1
    reader = Reader(hang, seconds=60)
    go_on.set()
    assert shown(reader.figures()) == {"height": 7}
    assert shown(reader.figures()) == {"height": 7}
    assert len(begun) == 3
