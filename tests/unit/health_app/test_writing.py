"""A write that the database rejected counts as a failure for a while."""

import psycopg.errors
from django.db import OperationalError

from health_app.writing import HOLD, Writes


class Clock:
    """A clock that a test advances."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def wrapped(cause: BaseException) -> OperationalError:
    """Return the error that Django raises for a database error."""
    error = OperationalError(str(cause))
    error.__cause__ = cause
    return error


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
