"""Counting without a lock loses nothing, and reading a count has no effect."""

import sys
import threading

from primitives.bounded_cache import Counter, HitCounter

THREADS = 4
EACH = 5_000


def test_threads_count_together() -> None:
    counter, before = Counter(), sys.getswitchinterval()
    looks: list[int] = []

    def count() -> None:
        for number in range(EACH):
            counter.add()
            if number % 500 == 0:
                looks.append(counter.read())

    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=count) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)

    assert counter.read() == THREADS * EACH
    assert counter.read() == THREADS * EACH
    assert all(0 < look <= THREADS * EACH for look in looks)


def test_hits_and_misses_are_told_apart() -> None:
    asked = HitCounter()
    for _ in range(3):
        asked.hit()
    asked.miss()

    assert (asked.hits.read(), asked.misses.read()) == (3, 1)
