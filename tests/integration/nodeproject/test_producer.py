"""The producer process of the production profile: woken by PostgreSQL, only one at a time, with a fallback tick."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction

from cchain_app import tasks
from cchain_app.apps import evm_chain
from chaindb.chains import C_CHAIN
from nodeproject.processes.producer import ProducerLoop
from tests.integration.waking import by_postgresql

pytestmark = [by_postgresql, pytest.mark.django_db(transaction=True)]

SECONDS = 60.0
"""Longest wait for an event on a busy machine."""
NEVER = 3600.0
"""A tick that never comes within a test."""


class Work:
    """Counts runs, and reports that each one made no block."""

    def __init__(self) -> None:
        self.runs = threading.Semaphore(0)

    def __call__(self) -> int:
        self.runs.release()
        return 0

    def wait(self) -> None:
        assert self.runs.acquire(timeout=SECONDS), "nobody worked"


Start = Callable[[Work], ProducerLoop]


@pytest.fixture
def start() -> Iterator[Start]:
    """Return a function that starts producers which only a notification wakes, and stop them at the end."""
    stopping = threading.Event()
    started: list[ProducerLoop] = []

    def begin(work: Work, tick: float = NEVER, *, by_clock: bool = False) -> ProducerLoop:
        one = ProducerLoop(
            C_CHAIN, evm_chain().producer, work, tick=tick, by_clock=by_clock, stopping=stopping
        )
        one.start()
        started.append(one)
        return one

    yield begin
    stopping.set()  # and it notices without being woken
    for item in started:
        item.join(SECONDS)
        assert not item.is_alive()


def notify() -> None:
    evm_chain().producer.request()


def listeners() -> list[int]:
    """Return the server process IDs of sessions that hold the producer's lock."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = %s AND granted",
            [int(evm_chain().producer.lock) & 0xFFFFFFFF],
        )
        return [pid for (pid,) in cursor.fetchall()]


def until(holds: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(int(SECONDS / 0.01)):
        if holds():
            return
        pause.wait(0.01)
    pytest.fail("it did not come")


def test_producer_wakes_on_commit_and_not_on_rollback(start: Start) -> None:
    work = Work()
    start(work)
    work.wait()  # the first run

    with transaction.atomic():
        notify()
        transaction.set_rollback(True)
    with transaction.atomic():
        notify()
        assert not work.runs.acquire(blocking=False)

    work.wait()


def test_periodic_task_leaves_blocks_to_a_live_producer(start: Start, monkeypatch: Any) -> None:
    beats: list[int] = []
    monkeypatch.setattr(tasks, "beat", lambda _chain: beats.append(1) or {"blocks": 1})
    assert tasks.tick() == {"blocks": 1}

    work = Work()
    start(work)
    work.wait()

    assert tasks.tick() == {"blocks": 0}
    assert len(beats) == 1


def test_lost_session_is_reopened(start: Start) -> None:
    work = Work()
    start(work)
    work.wait()

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", listeners())

    work.wait()  # the first run of the next session


def test_lost_session_builds_no_interval_block(start: Any) -> None:
    work = Work()
    start(work, by_clock=True)
    work.wait()  # the first tick
    [first] = listeners()

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [first])
    until(lambda: listeners() not in ([], [first]))
    [second] = listeners()
    # A run follows the lock immediately: after the end of the second run that phase is over.
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [second])
    until(lambda: listeners() not in ([], [second]))

    assert not work.runs.acquire(blocking=False)


@pytest.mark.parametrize(
    "failure", [psycopg.errors.ReadOnlySqlTransaction("during recovery"), KeyError("anything")]
)
def test_producer_continues_after_any_error(
    start: Any, monkeypatch: Any, failure: Exception
) -> None:
    opened = ProducerLoop._open
    failures = [failure]

    def opening(self: ProducerLoop) -> Any:
        if failures:
            raise failures.pop()
        return opened(self)

    monkeypatch.setattr(ProducerLoop, "_open", opening)
    work = Work()
    start(work)

    work.wait()
    assert not failures


def test_second_producer_waits_for_the_first(start: Any) -> None:
    with psycopg.connect(**connection.get_connection_params(), autocommit=True) as first:
        first.execute("SELECT pg_advisory_lock(%s)", [int(evm_chain().producer.lock)])
        work = Work()
        start(work, tick=0.05)
        notify()
        assert listeners() == [first.info.backend_pid]
        assert not work.runs.acquire(blocking=False)

    work.wait()
