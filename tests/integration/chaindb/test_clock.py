"""The node's clock: wall time plus an offset that every process sees, and that only grows."""

from types import SimpleNamespace

import pytest
from django.db import IntegrityError, connections, transaction

from chaindb import clock
from chaindb.clock import ClockMovesForward
from chaindb.models import Clock

WALL = 1_700_000_000.9


@pytest.fixture(autouse=True)
def wall(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "time", SimpleNamespace(time=lambda: WALL))


def test_unmoved_clock_is_wall_time() -> None:
    assert clock.now() == 1_700_000_000
    assert clock.offset() == 0
    assert not Clock.objects.exists()


def test_clock_moved_forward_stays_ahead() -> None:
    assert clock.move(30) == 30
    assert clock.move(70) == 100

    assert clock.offset() == 100
    assert clock.now() == 1_700_000_100
    assert Clock.objects.count() == 1


def test_clock_moved_by_zero_is_unchanged() -> None:
    clock.move(5)

    assert clock.move(0) == 5


def test_clock_does_not_move_back() -> None:
    clock.move(100)

    with pytest.raises(ClockMovesForward, match=r"^the clock can only be moved forward$"):
        clock.move(-1)

    assert clock.offset() == 100


def test_rolled_back_move_leaves_the_clock() -> None:
    clock.move(10)
    with transaction.atomic():
        clock.move(90)
        assert clock.offset() == 100
        transaction.set_rollback(True)

    assert clock.offset() == 10


def test_clock_moves_to_a_later_time_only() -> None:
    assert clock.reach(1_700_000_050) == 50
    assert clock.reach(1_700_000_050) == clock.reach(1_700_000_020) == clock.reach(5) == 0
    assert clock.now() == 1_700_000_050
    clock.move(10)
    assert clock.reach(1_700_000_090) == 30
    assert clock.now() == 1_700_000_090


def test_clock_is_a_single_row() -> None:
    with pytest.raises(IntegrityError, match="chaindb_one_clock"), transaction.atomic():
        Clock.objects.create(id=2, offset=1)


def test_clock_time_can_be_set_down_to_its_minimum() -> None:
    assert clock.show(1_700_000_500, minimum=0) == 500
    assert clock.show(1_699_999_900, minimum=1_699_999_950) == -50
    assert clock.now() == 1_699_999_950
    assert clock.restore(7, minimum=0) == 7
    assert clock.restore(-7, minimum=1_700_000_003) == 3


def test_clock_reports_its_offset() -> None:
    clock.move(90)

    assert str(Clock.objects.get()) == "90 s ahead of wall time"
    clock.restore(-5, minimum=0)
    assert str(Clock.objects.get()) == "5 s behind wall time"


@pytest.mark.django_db(transaction=True)
def test_another_thread_sees_the_move_at_once() -> None:
    from concurrent.futures import ThreadPoolExecutor

    def elsewhere() -> int:
        try:
            return clock.now()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(elsewhere).result() == 1_700_000_000
        with transaction.atomic():
            clock.move(1_000)
        assert pool.submit(elsewhere).result() == 1_700_001_000


@pytest.mark.django_db(transaction=True)
def test_concurrent_moves_to_one_time_move_once() -> None:
    from concurrent.futures import ThreadPoolExecutor

    def reach(moment: int) -> int:
        try:
            with transaction.atomic():
                return clock.reach(moment)
        finally:
            connections.close_all()

    with transaction.atomic():
        clock.move(0)
    with ThreadPoolExecutor(4) as pool:
        moved = list(pool.map(reach, [1_700_000_100] * 8))

    assert sorted(moved) == [0] * 7 + [100]
    assert clock.now() == 1_700_000_100


@pytest.mark.django_db(transaction=True)
def test_moves_at_once_add_up() -> None:
    from concurrent.futures import ThreadPoolExecutor

    def move(seconds: int) -> None:
        try:
            with transaction.atomic():
                clock.move(seconds)
        finally:
            connections.close_all()

    with transaction.atomic():
        clock.move(0)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(move, range(1, 21)))

    assert clock.offset() == 210
