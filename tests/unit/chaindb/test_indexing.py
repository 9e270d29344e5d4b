"""The time for writing indexes: a share of each second, and less while another thread has much to answer."""

import pytest

from chaindb.indexing import BUSY_SHARE, CHECK_SECONDS, REST_SECONDS, SHARE, IndexingTime

FULL = SHARE["embedded"]


class Process:
    """A clock, and the CPU time of the thread that answers requests."""

    def __init__(self) -> None:
        self.now = 100.0
        self.used = 7.0

    def spend(self, seconds: float, *, busy: float) -> None:
        """Advance the clock; `busy` is the share of the time spent on answers."""
        self.now += seconds
        self.used += busy * seconds


@pytest.fixture
def process() -> Process:
    return Process()


@pytest.fixture
def indexing(process: Process) -> IndexingTime:
    made = IndexingTime("embedded", clock=lambda: process.now)
    made.beside(lambda: process.used)
    return made


def written_in(
    indexing: IndexingTime, process: Process, *, seconds: int, busy: float
) -> list[float]:
    """Return the time for the index of calls in each of several seconds."""
    found = []
    for _ in range(seconds):
        process.spend(1.0, busy=busy)
        found.append(indexing.seconds("calls"))
    return found


def test_an_index_has_its_part_of_each_second_beside_a_thread_that_has_little_to_answer(
    indexing: IndexingTime, process: Process
) -> None:
    assert written_in(indexing, process, seconds=4, busy=BUSY_SHARE - 0.01) == [FULL] * 4


def test_beside_one_that_has_much_to_answer_it_rests(
    indexing: IndexingTime, process: Process
) -> None:
    rests = [0.0] * (int(REST_SECONDS) - 1)

    found = written_in(indexing, process, seconds=2 * int(REST_SECONDS), busy=BUSY_SHARE + 0.01)

    assert found == [FULL, *rests, FULL, *rests]


def test_it_goes_on_at_once_when_there_is_less_to_answer(
    indexing: IndexingTime, process: Process
) -> None:
    assert written_in(indexing, process, seconds=2, busy=1.0) == [FULL, 0.0]
    assert written_in(indexing, process, seconds=2, busy=0.0) == [FULL, FULL]


def test_each_index_has_its_own_turn(indexing: IndexingTime, process: Process) -> None:
    process.spend(1.0, busy=1.0)
    assert indexing.seconds("calls") == FULL
    process.spend(1.0, busy=1.0)
    assert [indexing.seconds(name) for name in ("calls", "tokens", "calls")] == [0.0, FULL, 0.0]


def test_one_answer_in_a_moment_is_not_much(indexing: IndexingTime, process: Process) -> None:
    assert written_in(indexing, process, seconds=1, busy=0.0) == [FULL]
    process.spend(CHECK_SECONDS / 2, busy=1.0)
    assert indexing.seconds("calls") == FULL


@pytest.mark.parametrize("profile", ["embedded", "production"])
def test_where_nobody_answers_in_the_process_there_is_nobody_to_give_way_to(
    process: Process, profile: str
) -> None:
    indexing = IndexingTime(profile, clock=lambda: process.now)

    found = written_in(indexing, process, seconds=3, busy=1.0)

    assert found == [SHARE[profile]] * 3
