"""Repeated failures for the same reason are logged once a minute."""

import logging

import psycopg.errors

from chaindb.outage_log import SILENCE_SECONDS, UnavailableFilter
from chaindb.unavailable import BUSY
from primitives.fair_lock import WaitedTooLong

FULL = "the database takes no writes: its disk is full"


class Clock:
    """A clock that a test advances."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def record(text: str, error: BaseException | None = None, **more: object) -> logging.LogRecord:
    trace = None if error is None else (type(error), error, None)
    made = logging.LogRecord("x", logging.ERROR, "x", 1, text, (), trace)
    made.__dict__.update(more)
    return made


def test_each_reason_has_one_line_a_minute_without_a_traceback() -> None:
    clock = Clock()
    shown = UnavailableFilter(clock).filter
    full, busy = psycopg.errors.DiskFull(), WaitedTooLong()

    first = record("method a 100% failed", full)
    assert shown(first)
    assert (first.getMessage(), first.exc_info) == (f"method a 100% failed: {FULL}", None)
    assert not any(shown(record("method b failed", full)) for _ in range(360))
    assert shown(record("method c failed", busy))
    clock.now += SILENCE_SECONDS
    again = record("a task failed", full)
    assert shown(again)
    assert (
        again.getMessage()
        == f"a task failed: {FULL} (and 360 failures since the last such message)"
    )
    assert not shown(record("method c failed", full))


def test_outage_is_found_in_the_cause_of_an_argument() -> None:
    shown = UnavailableFilter().filter
    failed = RuntimeError("a block was not made")
    failed.__cause__ = WaitedTooLong()
    made = logging.LogRecord("x", logging.ERROR, "x", 1, "%s", (failed,), None)
    assert shown(made)
    assert made.getMessage() == f"a block was not made: {BUSY}"


def test_refusals_are_logged_once_a_minute_too() -> None:
    shown = UnavailableFilter().filter
    assert shown(record("Service Unavailable: /api", status_code=503))
    assert not shown(record("Service Unavailable: /api", status_code=503))
    assert shown(record("Internal Server Error: /api", status_code=500))


def test_other_records_pass_as_they_are() -> None:
    shown = UnavailableFilter().filter
    for _ in range(2):
        made = record("crashed", ZeroDivisionError())
        assert shown(made)
        assert made.exc_info is not None
