"""Errors of databases and servers that mean: try again later."""

import errno
import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg.errors
import pytest
import redis
from django.db import OperationalError
from psycopg_pool import PoolTimeout, TooManyRequests

from chaindb.servers import ServerAway
from chaindb.unavailable import BUSY, refusal, unavailable
from primitives.fair_lock import WaitedTooLong


def refused(path: Path, *statements: str) -> sqlite3.Error:
    """Return the error of the last statement."""
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements[:-1]:
            connection.execute(statement)
        with pytest.raises(sqlite3.Error) as caught:
            connection.execute(statements[-1])
    return caught.value


def wrapped(cause: BaseException) -> OperationalError:
    """Return the error that Django raises for a database error."""
    error = OperationalError(str(cause))
    error.__cause__ = cause
    return error


def test_full_and_read_only_sqlite_have_separate_reasons(tmp_path: Path) -> None:
    path = tmp_path / "rows.sqlite3"
    make, write = "CREATE TABLE rows (x)", "INSERT INTO rows VALUES (zeroblob(100000))"
    full = refused(path, make, "PRAGMA max_page_count=2", write)
    read_only = refused(path, "PRAGMA query_only=1", write)

    assert [refusal(wrapped(error)) for error in (full, read_only)] == [
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
def test_postgresql_write_errors_are_recognized(error: psycopg.Error, words: str) -> None:
    assert refusal(wrapped(error)) == words


def test_locked_database_or_wrong_sql_is_no_write_refusal(tmp_path: Path) -> None:
    wrong = refused(tmp_path / "rows.sqlite3", "INSERT INTO nothing VALUES (1)")

    assert refusal(wrapped(wrong)) == refusal(ZeroDivisionError()) == ""


def test_a_locked_sqlite_is_busy(tmp_path: Path) -> None:
    path = tmp_path / "rows.sqlite3"
    with closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        locked = refused(path, "PRAGMA busy_timeout=0", "BEGIN IMMEDIATE")

    assert unavailable(wrapped(locked)) == unavailable(locked) == BUSY


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (psycopg.errors.LockNotAvailable(), BUSY),
        (psycopg.errors.QueryCanceled(), BUSY),
        (psycopg.errors.DeadlockDetected(), BUSY),
        (psycopg.errors.TooManyConnections(), BUSY),
        (PoolTimeout(), BUSY),
        (TooManyRequests(), BUSY),
        (WaitedTooLong(), BUSY),
        (psycopg.errors.DiskFull(), "the database takes no writes: its disk is full"),
        (OSError(errno.ENOSPC, "No space left on device"), "the disk is full"),
        (ServerAway("Redis is away"), "Redis is away"),
        (
            psycopg.OperationalError("server closed the connection"),
            "the connection to PostgreSQL was lost",
        ),
        (psycopg.errors.AdminShutdown(), "the connection to PostgreSQL was lost"),
        (redis.ConnectionError(), "the connection to Redis was lost"),
        (redis.TimeoutError(), "the connection to Redis was lost"),
        (psycopg.errors.UniqueViolation(), ""),
        (FileNotFoundError(errno.ENOENT, "No such file"), ""),
    ],
)
def test_the_cause_of_an_error_decides(error: Exception, words: str) -> None:
    outer = RuntimeError("a method failed")
    outer.__context__ = wrapped(error)

    assert unavailable(outer) == unavailable(error) == words
    assert unavailable(None) == ""
