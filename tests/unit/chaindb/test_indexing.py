"""The time for writing indexes: a share of each second, and less while the process has much to answer; readers wait."""

import pytest

from chaindb.indexing import (
    BUSY_SHARE,
    CHECK_SECONDS,
    GIVEN_SECONDS,
    LONG_SECONDS,
    PATIENCE,
    PAUSE,
    REST_SECONDS,
    SHARE,
    IndexBehind,
    IndexingTime,
    LaggingIndex,
    TimeSlice,
    progress_text,
)

FULL = SHARE["embedded"]


class Process:
    """A clock, and the CPU time of the process that answers requests."""

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


def test_an_index_has_its_part_of_each_second_beside_a_process_that_has_little_to_answer(
    indexing: IndexingTime, process: Process
) -> None:
    assert written_in(indexing, process, seconds=4, busy=BUSY_SHARE - 0.01) == [FULL] * 4


def test_indexing_rests_beside_a_busy_server(indexing: IndexingTime, process: Process) -> None:
    rests = [0.0] * (int(REST_SECONDS) - 1)

    found = written_in(indexing, process, seconds=2 * int(REST_SECONDS), busy=BUSY_SHARE + 0.01)

    assert found == [FULL, *rests, FULL, *rests]


def test_indexing_resumes_when_the_process_is_idle(
    indexing: IndexingTime, process: Process
) -> None:
    assert written_in(indexing, process, seconds=2, busy=1.0) == [FULL, 0.0]
    assert written_in(indexing, process, seconds=2, busy=0.0) == [FULL, FULL]


def test_each_index_has_its_own_turn(indexing: IndexingTime, process: Process) -> None:
    process.spend(1.0, busy=1.0)
    assert indexing.seconds("calls") == FULL
    process.spend(1.0, busy=1.0)
    assert [indexing.seconds(name) for name in ("calls", "tokens", "calls")] == [0.0, FULL, 0.0]


def test_one_response_does_not_count_as_busy(indexing: IndexingTime, process: Process) -> None:
    assert written_in(indexing, process, seconds=1, busy=0.0) == [FULL]
    process.spend(CHECK_SECONDS / 2, busy=1.0)
    assert indexing.seconds("calls") == FULL


@pytest.mark.parametrize("profile", ["embedded", "production"])
def test_indexing_process_without_requests_uses_its_full_share(
    process: Process, profile: str
) -> None:
    indexing = IndexingTime(profile, clock=lambda: process.now)

    found = written_in(indexing, process, seconds=3, busy=1.0)

    assert found == [SHARE[profile]] * 3


class Blocks:
    """An index that needs a number of seconds to be current, and a clock."""

    def __init__(self, seconds: float) -> None:
        self.now = 100.0
        self.left = seconds
        self.advances: list[float] = []
        self.index = LaggingIndex("blocks", clock=lambda: self.now, sleep=self.sleep)

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def advance(self, seconds: float) -> None:
        """Write for at most half a second."""
        self.advances.append(seconds)
        spent = min(seconds, self.left, 0.5)
        self.now += spent
        self.left -= spent

    def wait(self) -> bool:
        return self.index.wait(lambda: self.left <= 0, self.advance)


def test_a_reader_of_a_current_index_does_not_write() -> None:
    blocks = Blocks(0)

    assert blocks.wait()
    assert (blocks.advances, blocks.now) == ([], 100.0)


def test_a_reader_writes_until_the_index_is_current() -> None:
    blocks = Blocks(1.2)

    assert blocks.wait()
    assert len(blocks.advances) == 3
    assert blocks.advances[0] == PATIENCE


def test_a_reader_gives_up_and_those_after_it_do_not_wait() -> None:
    blocks = Blocks(3)

    assert not blocks.wait()
    assert blocks.now == pytest.approx(100 + PATIENCE, abs=0.1)
    written, then = len(blocks.advances), blocks.now
    assert not blocks.wait()
    assert (len(blocks.advances), blocks.now) == (written, then)
    blocks.now += PAUSE
    assert blocks.wait()


def test_indexing_threads_write_one_at_a_time() -> None:
    index = LaggingIndex("blocks")
    inner: list[bool] = []

    assert index.run(lambda: inner.append(index.run(lambda: None)))
    assert index.run(lambda: inner.append(index.start(lambda: None)))
    assert inner == [False, False]
    assert not index.is_running


def test_work_that_fails_leaves_the_next_its_turn() -> None:
    index = LaggingIndex("blocks")

    with pytest.raises(ZeroDivisionError):
        index.run(lambda: 1 // 0)
    assert index.run(lambda: None)


def test_the_error_has_the_heights() -> None:
    assert str(IndexBehind("calls", -1, 7)) == (
        "the index of calls has reached block 0, but this answer needs block 7; try again later"
    )


def test_progress_names_the_missing_blocks() -> None:
    assert progress_text(1_234, 1_234) == "rows up to block 1,234 of 1,234"
    assert progress_text(5, 1_234, 3) == (
        "rows from block 3 up to block 5 of 1,234; "
        "later blocks are missing until the index has caught up"
    )


class Requests:
    """A clock, and requests that are executed until a time."""

    def __init__(self) -> None:
        self.now = 100.0
        self.until = 0.0

    def are_executed(self) -> bool:
        return self.now < self.until

    def slice(self, seconds: float) -> TimeSlice:
        return TimeSlice(seconds, self.are_executed, clock=lambda: self.now, sleep=self.pass_by)

    def pass_by(self, seconds: float) -> None:
        self.now += seconds


def test_a_slice_ends_after_its_seconds_of_writing() -> None:
    requests = Requests()
    made = requests.slice(0.1)
    assert not made.is_over()
    requests.now += 0.06
    requests.until = requests.now + 0.01
    assert not made.is_over()
    assert requests.now >= requests.until  # it has waited
    requests.now += 0.03
    assert not made.is_over()
    requests.now += 0.02
    assert made.is_over()


def test_a_slice_ends_after_it_has_given_way_for_long() -> None:
    requests = Requests()
    made, began = requests.slice(1.0), requests.now
    for _ in range(1_000):
        requests.until = requests.now + LONG_SECONDS / 2
        if made.is_over():
            break
    assert GIVEN_SECONDS <= requests.now - began < GIVEN_SECONDS + LONG_SECONDS


def test_a_slice_does_not_wait_for_a_long_request_again() -> None:
    requests = Requests()
    made, began = requests.slice(0.1), requests.now
    requests.until = began + 60.0
    assert not made.is_over()
    waited = requests.now - began
    assert LONG_SECONDS <= waited < 2 * LONG_SECONDS
    assert not made.is_over()
    assert requests.now - began == waited
    requests.now += 0.1
    assert made.is_over()
