"""The reported duration of blocks: from the start of the work to the commit."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from chaindb import building as module
from chaindb.building import BlocksInProgress


class _Seconds:
    """A clock that a test advances."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> _Seconds:
    made = _Seconds()
    monkeypatch.setattr(module, "time", made)
    return made


@pytest.fixture
def building() -> BlocksInProgress:
    return BlocksInProgress("C", "embedded")


@pytest.fixture
def told(building: BlocksInProgress) -> list[float]:
    heard: list[float] = []
    building.observe(heard.append)
    return heard


def test_a_block_counts_when_it_is_committed(
    building: BlocksInProgress, told: list[float], clock: _Seconds
) -> None:
    with building.count(7):
        clock.now += 2
        assert told == []
        building.accepted(7)
    assert told == [2.0]


def test_abandoned_work_does_not_count_for_later_blocks(
    building: BlocksInProgress, told: list[float], clock: _Seconds
) -> None:
    with building.count(7):
        clock.now += 2
    clock.now += 60
    building.accepted(7)  # its construction was not measured
    assert told == []


def test_context_is_entered_during_block_building(building: BlocksInProgress) -> None:
    now: list[bool] = []

    @contextmanager
    def within() -> Iterator[None]:
        now.append(True)
        yield
        now.append(False)

    building.within = within
    with building.count(7):
        assert now == [True]
    assert now == [True, False]


def test_blocks_that_were_accepted_together_share_their_time(
    building: BlocksInProgress, told: list[float], clock: _Seconds
) -> None:
    with building.count(5):
        clock.now += 8
        building.accepted(8)
    assert told == [2.0] * 4


def test_work_that_brought_no_block_is_not_counted(
    building: BlocksInProgress, told: list[float], clock: _Seconds
) -> None:
    with building.count(7):
        clock.now += 60
    with building.count(7):
        clock.now += 1
        building.accepted(7)
    building.accepted(8)  # a genesis, or a block of another thread
    assert told == [1.0]


def test_a_block_counts_once_and_for_its_chain_alone(
    building: BlocksInProgress, told: list[float], clock: _Seconds
) -> None:
    other = BlocksInProgress("P", "embedded")
    of_other: list[float] = []
    other.observe(of_other.append)
    with building.count(3):
        clock.now += 1
        other.accepted(3)
        building.accepted(3)
        building.accepted(3)
    assert (told, of_other) == ([1.0], [])


def test_a_block_counts_where_it_was_worked_on(
    building: BlocksInProgress, told: list[float], clock: _Seconds
) -> None:
    with building.count(3):
        clock.now += 1
        elsewhere = threading.Thread(target=building.accepted, args=[3])
        elsewhere.start()
        elsewhere.join()
        assert told == []
        building.accepted(3)
    assert told == [1.0]


def test_observer_is_optional(building: BlocksInProgress, clock: _Seconds) -> None:
    with building.count(7):
        building.accepted(7)
    heard: list[float] = []
    building.observe(heard.append)
    with building.count(8):
        building.accepted(8)
    assert len(heard) == 1
