"""How long jobs wait for a thread and run, which the health checks query for the call threads."""

import asyncio
import threading
from typing import Any

import pytest

from jsonrpc.dispatch import workers
from jsonrpc.dispatch.workers import TimeLimit, Workers
from jsonrpc.errors import Overloaded
from jsonrpc.limits.interpreter import Interpreter


class Clock:
    """A clock that a test advances."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(workers, "time", made)
    return made


async def test_a_job_that_waits_for_a_thread_grows_old_too(clock: Clock) -> None:
    pool = Workers(threads=1, queue=1)
    begun, end = threading.Event(), threading.Event()

    def block() -> Any:
        begun.set()
        return end.wait(60)

    first = asyncio.create_task(pool.run(None, block))
    assert await asyncio.to_thread(begun.wait, 60)
    clock.now = 130.0
    second = asyncio.create_task(pool.run(None, int, "7"))
    await asyncio.sleep(0)
    clock.now = 160.0
    assert (pool.pending, pool.longest_seconds()) == (2, 60.0)
    with pytest.raises(Overloaded):
        await pool.run(None, int)

    end.set()
    assert (await first, await second) == (True, 7)
    assert (pool.pending, pool.longest_seconds()) == (0, 0.0)
    pool.close()


@pytest.mark.parametrize("cancelled", [True, False], ids=["cancelled", "timed out"])
async def test_abandoned_job_is_dropped_before_it_starts(*, cancelled: bool) -> None:
    pool = Workers(threads=1, queue=1)
    end = threading.Event()
    begun: list[str] = []
    first = asyncio.create_task(pool.run(None, end.wait, 60))
    second = asyncio.create_task(pool.run(None if cancelled else 0.01, begun.append, "second"))
    await asyncio.sleep(0)
    if cancelled:
        second.cancel()
    with pytest.raises(asyncio.CancelledError if cancelled else TimeoutError):
        await second
    assert pool.pending == 1

    third = asyncio.create_task(pool.run(None, begun.append, "third"))
    await asyncio.sleep(0)
    end.set()
    await first
    await third
    assert (begun, pool.pending) == (["third"], 0)
    pool.close()


async def test_abandoned_job_runs_to_its_end(clock: Clock) -> None:
    pool = Workers(threads=1)
    end = threading.Event()
    with pytest.raises(TimeoutError):
        await pool.run(0.01, end.wait, 60)
    clock.now = 105.0
    assert (pool.pending, pool.longest_seconds()) == (1, 5.0)

    end.set()
    await pool.run(None, int)
    assert (pool.pending, pool.longest_seconds()) == (0, 0.0)
    pool.close()


async def test_shutdown_fails_waiting_and_later_jobs() -> None:
    pool = Workers(threads=1)
    begun, end = threading.Event(), threading.Event()

    def block() -> bool:
        begun.set()
        return end.wait(60)

    first = asyncio.create_task(pool.run(None, block))
    assert await asyncio.to_thread(begun.wait, 60)
    second = asyncio.create_task(pool.run(None, int))
    await asyncio.sleep(0)
    pool.close()

    with pytest.raises(Overloaded):
        await second
    with pytest.raises(Overloaded):
        await pool.run(None, int)
    assert pool.pending == 1
    end.set()
    assert await first
    assert pool.pending == 0


@pytest.mark.parametrize("lifted", [True, False])
async def test_a_limit_counts_unless_it_is_lifted_when_its_time_has_passed(*, lifted: bool) -> None:
    pool = Workers(threads=1, queue=1)
    passed = threading.Event()

    def is_lifted() -> bool:
        passed.set()
        return lifted

    waiting = pool.run(TimeLimit(0.0, is_lifted), passed.wait, 60)
    if lifted:
        assert await waiting
    else:
        with pytest.raises(TimeoutError):
            await waiting
    pool.close()


@pytest.mark.parametrize("ending", ["cancelled", "closed", "run"])
async def test_event_loop_pauses_for_jobs_from_their_arrival_to_their_end(ending: str) -> None:
    interpreter = Interpreter()
    pool = Workers(threads=1, queue=1, interpreter=interpreter)
    begun, end = threading.Event(), threading.Event()

    def block() -> int:
        begun.set()
        end.wait(60)
        return interpreter.needed_by

    first = asyncio.create_task(pool.run(None, block))
    second = asyncio.create_task(pool.run(None, lambda: interpreter.needed_by))
    assert await asyncio.to_thread(begun.wait, 60)
    assert interpreter.needed_by == 2

    if ending == "cancelled":
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
    elif ending == "closed":
        pool.close()
        with pytest.raises(Overloaded):
            await second
    end.set()
    assert await first == (2 if ending == "run" else 1)
    if ending == "run":
        assert await second == 1
    assert interpreter.needed_by == 0
    pool.close()


async def test_the_thread_that_ended_its_job_last_gets_the_next_one() -> None:
    pool = Workers(threads=3)
    all_there = threading.Barrier(3)

    def meet() -> int:
        all_there.wait(60)
        return threading.get_ident()

    together = await asyncio.gather(*(pool.run(None, meet) for _ in range(3)))
    assert len(set(together)) == 3
    alone = [await pool.run(None, threading.get_ident) for _ in range(20)]
    assert len(set(alone)) == 1
    assert set(alone) < set(together)
    pool.close()


def _name() -> str:
    return threading.current_thread().name


async def test_short_jobs_that_arrive_together_share_a_thread(clock: Clock) -> None:
    pool = Workers(threads=8)
    names = await asyncio.gather(*(pool.run(None, _name) for _ in range(16)))
    assert len(set(names)) == 1
    pool.close()


async def test_the_pool_grows_by_a_thread_while_a_job_has_waited_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workers, "GROWTH_SECONDS", 0.001)
    pool, all_run = Workers(threads=3), threading.Barrier(3)

    def meet() -> str:
        all_run.wait(60)  # ends only if three jobs run at the same time
        return _name()

    names = await asyncio.gather(*(pool.run(None, meet) for _ in range(6)))
    assert len(set(names)) == 3
    later = await asyncio.gather(*(pool.run(None, meet) for _ in range(3)))
    assert set(later) == set(names)
    pool.close()


def test_a_pool_grows_although_the_loop_of_its_first_jobs_was_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workers, "GROWTH_SECONDS", 0.001)
    # A scheduled start is forgotten immediately.
    monkeypatch.setattr(workers, "_FORGOTTEN_SECONDS", -1.0)
    pool, begun, end = Workers(threads=2), threading.Event(), threading.Event()

    def block() -> bool:
        begun.set()
        return end.wait(60)

    async def leave_waiting() -> None:
        first = asyncio.create_task(pool.run(None, block))
        assert await asyncio.to_thread(begun.wait, 60)
        with pytest.raises(TimeoutError):
            await pool.run(0.0, int)  # schedules the start of another thread
        first.cancel()

    try:
        asyncio.run(leave_waiting())
        assert asyncio.run(pool.run(None, int, "7")) == 7
    finally:
        end.set()
        pool.close()
