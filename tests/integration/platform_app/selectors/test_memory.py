"""The cache is never older than the rows, and never larger than its limit."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from chaindb import generation
from platform_app import models
from platform_app.apps import platform_chain
from platform_app.memory.stakers import MAX_READS, StakerMemory
from tests.builders.platform_rows import begin

Heights = tuple[int, ...]


def change_a_staker() -> None:
    row = models.Chain.objects.get()
    models.Chain.objects.update(stakers_height=row.stakers_height + 1)


@pytest.mark.django_db
def test_answer_read_during_a_block_is_read_again() -> None:
    begin()
    memory: StakerMemory[str, Heights] = StakerMemory(4, platform_chain().stakers_version)
    reads: list[int] = []

    def load() -> Heights:
        reads.append(platform_chain().stakers_version().stakers_height)
        if len(reads) == 1:
            change_a_staker()
        return (reads[-1],)

    assert memory.get("key", load) == (1,)
    assert reads == [0, 1]
    assert memory.get("key", load) == (1,)
    assert reads == [0, 1]


@pytest.mark.django_db
def test_an_answer_that_is_never_done_in_time_is_given_and_not_remembered() -> None:
    begin()
    memory: StakerMemory[str, Heights] = StakerMemory(4, platform_chain().stakers_version)
    reads: list[int] = []

    def load() -> Heights:
        reads.append(platform_chain().stakers_version().stakers_height)
        change_a_staker()
        return (reads[-1],)

    assert memory.get("key", load) == (MAX_READS - 1,)
    assert memory.get("key", load) == (2 * MAX_READS - 1,)
    assert reads == list(range(2 * MAX_READS))


@pytest.mark.django_db
def test_staker_change_clears_the_cache() -> None:
    begin()
    memory: StakerMemory[str, Heights] = StakerMemory(4, platform_chain().stakers_version)
    memory.get("first", lambda: (1,))
    change_a_staker()

    assert memory.get("second", lambda: (2,)) == (2,)
    assert memory.get("first", lambda: (3,)) == (3,)


@pytest.mark.django_db
def test_least_recently_used_entry_is_evicted_first() -> None:
    begin()
    memory: StakerMemory[int, Heights] = StakerMemory(2, platform_chain().stakers_version)
    for key in (1, 2, 1, 3):
        memory.get(key, lambda: (0,))

    assert memory.get(1, lambda: (9,)) == (0,)
    assert memory.get(2, lambda: (9,)) == (9,)


@pytest.mark.django_db
def test_empty_answers_do_not_count() -> None:
    begin()
    memory: StakerMemory[int, Heights] = StakerMemory(2, platform_chain().stakers_version)
    memory.get(0, lambda: (0,))
    for key in range(1, 5):
        assert memory.get(key, tuple) == ()

    assert memory.get(0, lambda: (9,)) == (0,)
    assert memory.get(1, lambda: (1,)) == (1,)


@pytest.mark.django_db
def test_a_read_that_failed_leaves_nothing_behind() -> None:
    begin()
    memory: StakerMemory[str, Heights] = StakerMemory(2, platform_chain().stakers_version)

    def fail() -> Heights:
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError, match=r"^gone$"):
        memory.get("key", fail)
    assert memory.get("key", lambda: (1,)) == (1,)


class Slow:
    """Reads that block until they are released, and a count of the readers that wait for them."""

    def __init__(self, memory: StakerMemory[str, Heights]) -> None:
        self.memory = memory
        self.reads = 0
        self.asked = threading.Semaphore(0)
        self.began, self.go_on = threading.Event(), threading.Event()

    def get(self) -> Heights:
        """Read as another thread does."""
        try:
            self.asked.release()
            return self.memory.get("key", self._load)
        finally:
            connection.close()

    def _load(self) -> Heights:
        self.reads += 1
        height = platform_chain().stakers_version().stakers_height
        self.began.set()
        assert self.go_on.wait(60)
        return (height,)


@pytest.mark.django_db(transaction=True)
def test_threads_that_ask_at_once_read_once() -> None:
    begin()
    slow = Slow(StakerMemory(4, platform_chain().stakers_version))
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(slow.get)]
        assert slow.began.wait(60)
        asked += [pool.submit(slow.get) for _ in range(3)]
        for _ in range(4):
            assert slow.asked.acquire(timeout=60)
        slow.go_on.set()

        assert [item.result(30) for item in asked] == [(0,)] * 4
    assert slow.reads == 1


@pytest.mark.django_db(transaction=True)
def test_reader_after_a_block_gets_no_older_answer() -> None:
    begin()
    slow = Slow(StakerMemory(4, platform_chain().stakers_version))
    with ThreadPoolExecutor(2) as pool:
        before = pool.submit(slow.get)
        assert slow.began.wait(60)
        change_a_staker()
        after = pool.submit(slow.get)
        slow.go_on.set()

        assert after.result(30) == (1,)
        assert before.result(30) == (1,)


@pytest.mark.django_db
def test_after_the_rows_went_back_a_height_may_have_another_set() -> None:
    begin()
    chain = platform_chain()
    memory: StakerMemory[str, Heights] = StakerMemory(4, chain.stakers_version)
    assert memory.get("a", lambda: (1,)) == (1,)
    assert memory.get("a", lambda: (2,)) == (1,)
    generation.advance(chain.db)
    assert memory.get("a", lambda: (3,)) == (3,)
    assert memory.get("a", lambda: (4,)) == (3,)
