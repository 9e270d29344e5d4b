"""The lock goes to the thread that has waited longest, and never to one that has given up."""

import threading
from collections.abc import Callable

import pytest

from primitives.fair_lock import FairLock, WaitedTooLong

SECONDS = 60.0
"""Limit for a busy machine; no test waits for it to expire."""


def queued(lock: FairLock, work: Callable[[], object], place: int) -> threading.Thread:
    """Start a thread that works under the lock; return when it is the `place`-th waiting thread."""

    def run() -> None:
        with lock.held(SECONDS):
            work()

    thread = threading.Thread(target=run)
    thread.start()
    while len(lock._waiting) < place:  # there is no public way to learn that it waits
        pass
    return thread


def test_lock_is_granted_in_order_of_arrival() -> None:
    lock, order = FairLock(), list[int]()
    with lock.held(SECONDS):
        threads = [
            queued(lock, lambda number=number: order.append(number), number + 1)
            for number in range(5)
        ]  # type: ignore[misc]
    for thread in threads:
        thread.join(SECONDS)
    assert order == [0, 1, 2, 3, 4]
    with lock.held(0.0):
        pass


def test_returning_thread_queues_behind_waiting_threads() -> None:
    lock, order = FairLock(), list[str]()
    with lock.held(SECONDS):
        waiting = queued(lock, lambda: order.append("other"), 1)
    with lock.held(SECONDS):
        order.append("own")
    waiting.join(SECONDS)
    assert order == ["other", "own"]


def test_timed_out_thread_is_skipped() -> None:
    lock, gave_up = FairLock(), list[bool]()

    def try_it() -> None:
        with pytest.raises(WaitedTooLong), lock.held(0.0):
            pytest.fail("two hold it")
        gave_up.append(True)

    with lock.held(SECONDS):
        impatient = threading.Thread(target=try_it)
        impatient.start()
        impatient.join(SECONDS)
        assert gave_up == [True]
        later = queued(lock, lambda: None, 1)
    later.join(SECONDS)
    assert not later.is_alive()


def test_lock_is_released_after_an_error() -> None:
    lock = FairLock()
    with pytest.raises(ZeroDivisionError), lock.held(SECONDS):
        raise ZeroDivisionError
    with lock.held(0.0):
        pass


def test_the_thread_that_has_it_takes_it_again() -> None:
    lock, order = FairLock(), list[str]()
    with lock.held(SECONDS):
        waiting = queued(lock, lambda: order.append("other"), 1)
        with lock.held(0.0):
            order.append("within")
        order.append("still")
    waiting.join(SECONDS)
    assert order == ["within", "still", "other"]


def test_lock_is_reentrant_with_acquire_and_release() -> None:
    lock, others = FairLock(), list[bool]()

    def other() -> None:
        others.append(lock.acquire(blocking=False))
        if others[-1]:
            lock.release()

    def try_it() -> bool:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join(SECONDS)
        return others[-1]

    with lock:
        assert lock.acquire(blocking=False)
        assert not try_it()
        lock.release()
        assert not try_it()
    assert try_it()
    with pytest.raises(AssertionError, match="only the owner"):
        lock.release()
