"""A refusal of the database counts for a while."""

import psycopg.errors
from django.db import OperationalError

from health_app.writing import HOLD, Writes


class Clock:
    """A clock that a test moves."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def wrapped(cause: BaseException) -> OperationalError:
    """Return the error that Django makes of one."""
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
