"""What a failed write says of the database."""

import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg.errors
import pytest
from django.db import OperationalError

from health_app.writing import HOLD, Writes, reason


class Clock:
    """A clock that a test moves."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def refused(path: Path, *statements: str) -> sqlite3.Error:
    """Return the error of the last statement."""
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements[:-1]:
            connection.execute(statement)
        with pytest.raises(sqlite3.Error) as caught:
            connection.execute(statements[-1])
    return caught.value


def wrapped(cause: BaseException) -> OperationalError:
    """Return the error that Django makes of one."""
    error = OperationalError(str(cause))
    error.__cause__ = cause
    return error


def test_a_full_and_a_read_only_sqlite_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "rows.sqlite3"
    make, write = "CREATE TABLE rows (x)", "INSERT INTO rows VALUES (zeroblob(100000))"
    full = refused(path, make, "PRAGMA max_page_count=2", write)
    read_only = refused(path, "PRAGMA query_only=1", write)

    assert [reason(wrapped(error)) for error in (full, read_only)] == [
        "its disk is full",
        "it is read-only",
    ]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (psycopg.errors.DiskFull("could not extend file /srv/1"), "its disk is full"),
        (psycopg.errors.ReadOnlySqlTransaction(), "it is read-only"),
        (psycopg.errors.InsufficientPrivilege(), "it does not let this node write"),
        (psycopg.errors.LockNotAvailable(), ""),
        (psycopg.OperationalError("connection refused"), ""),
    ],
)
def test_what_postgresql_refuses(error: psycopg.Error, words: str) -> None:
    assert reason(wrapped(error)) == words


def test_what_is_only_locked_or_wrong_is_no_refusal(tmp_path: Path) -> None:
    wrong = refused(tmp_path / "rows.sqlite3", "INSERT INTO nothing VALUES (1)")

    assert reason(wrapped(wrong)) == reason(ZeroDivisionError()) == ""


def test_a_refusal_counts_for_a_while() -> None:
    clock = Clock()
    writes = Writes(clock=clock)
    writes.failed(ZeroDivisionError())
    assert writes.refusal() == ""

    writes.failed(wrapped(psycopg.errors.DiskFull()))
    clock.now += HOLD - 1
    assert writes.refusal() == "its disk is full"
    writes.failed(wrapped(psycopg.OperationalError("connection refused")))
    assert writes.refusal() == "its disk is full"
    clock.now += 1
    assert writes.refusal() == ""
