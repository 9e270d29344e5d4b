"""Changes of checks reach the database in order, even if it is unavailable for a while."""

import threading
from collections import deque

import pytest
from django.db import OperationalError
from psycopg.errors import DiskFull

from health_app.history import MAX_PENDING, HistoryWriter
from health_app.result import CheckResult
from health_app.writing import Writes


class Database:
    """A database that stores changes, after failures chosen by the test."""

    def __init__(self, *failures: Exception, wanted: int) -> None:
        self.failures = deque(failures)
        self.written: list[tuple[str, str]] = []
        self.attempts = 0
        self._wanted = wanted
        self.full = threading.Event()

    def record(self, name: str, result: CheckResult) -> None:
        self.attempts += 1
        if self.failures:
            raise self.failures.popleft()
        self.written.append((name, result.error))
        if len(self.written) == self._wanted:
            self.full.set()


def no_probe() -> None:
    """Fail, because no code may probe whether the database accepts writes."""
    pytest.fail("nobody has asked")


def test_changes_are_written_in_their_order() -> None:
    database = Database(wanted=3)
    history = HistoryWriter(database.record, no_probe, writes=Writes(), retry=0)
    for error in ("a", "", "b"):
        history.note("C", CheckResult(error=error))

    assert database.full.wait(60)
    assert database.written == [("C", "a"), ("C", ""), ("C", "b")]


def test_rejected_write_is_repeated_when_the_database_is_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    database = Database(*[OperationalError("away")] * 3, wanted=2)
    history = HistoryWriter(database.record, no_probe, writes=Writes(), retry=0)
    history.note("P", CheckResult(error="the database does not answer"))
    history.note("P", CheckResult())

    assert database.full.wait(60)
    assert database.written == [("P", "the database does not answer"), ("P", "")]
    assert database.attempts == 5
    assert [log_record.getMessage() for log_record in caplog.records] == [
        "the health history cannot be written now: away"
    ]


def test_unwritable_change_does_not_block_later_ones(
    caplog: pytest.LogCaptureFixture,
) -> None:
    database = Database(TypeError("no JSON"), wanted=1)
    history = HistoryWriter(database.record, no_probe, writes=Writes(), retry=0)
    history.note("C", CheckResult(error="odd"))
    history.note("C", CheckResult())

    assert database.full.wait(60)
    assert database.written == [("C", "")]
    assert [log_record.getMessage() for log_record in caplog.records] == [
        "a change of check C was not written"
    ]


def test_pending_changes_are_limited() -> None:
    blocked, begun = threading.Event(), threading.Event()
    written: list[str] = []
    done = threading.Event()

    def record(name: str, result: CheckResult) -> None:
        begun.set()
        blocked.wait(60)
        written.append(result.error)
        if result.error == "last":
            done.set()

    history = HistoryWriter(record, no_probe, writes=Writes(), retry=0)
    history.note("C", CheckResult(error="first"))
    assert begun.wait(60)
    for number in range(MAX_PENDING + 5):
        history.note("C", CheckResult(error=str(number)))
    history.note("C", CheckResult(error="last"))
    blocked.set()

    assert done.wait(60)
    assert len(written) == 1 + MAX_PENDING
    assert written[:2] == ["first", "6"]


def test_write_probe_records_whether_writes_succeed() -> None:
    full = OperationalError("database or disk is full")
    full.__cause__ = DiskFull()
    database, tried, writes = Database(wanted=1), threading.Semaphore(0), Writes()
    failures: list[Exception] = [full, ZeroDivisionError()]

    def touch() -> None:
        tried.release()
        if failures:
            raise failures.pop(0)

    history = HistoryWriter(database.record, touch, writes=writes, retry=0)
    for _ in range(3):
        history.probe()
        assert tried.acquire(timeout=60)
    history.note("C", CheckResult())

    assert database.full.wait(60)
    assert writes.refusal() == "its disk is full"


def test_rejected_change_is_reported_as_refusal() -> None:
    full = OperationalError("database or disk is full")
    full.__cause__ = DiskFull()
    database, writes = Database(full, wanted=1), Writes()
    HistoryWriter(database.record, no_probe, writes=writes, retry=0).note("C", CheckResult())

    assert database.full.wait(60)
    assert writes.refusal() == "its disk is full"


def test_failure_to_close_a_connection_does_not_stop_writes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told, words = threading.Semaphore(0), []

    def fail() -> None:
        raise OperationalError("gone")

    def tell(word: str) -> None:
        words.append(word)
        told.release()

    monkeypatch.setattr("health_app.history.release", fail)
    monkeypatch.setattr("health_app.history._log.exception", tell)
    database = Database(wanted=2)
    history = HistoryWriter(database.record, no_probe, writes=Writes(), retry=0)
    for error in ("a", "b"):
        history.note("C", CheckResult(error=error))
        assert told.acquire(timeout=60)

    assert database.written == [("C", "a"), ("C", "b")]
    assert words == ["an error in the health history, which continues"] * 2
