"""Sync progress of chains: written by the network process, measured in other processes. The test sets the clock."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from network_app.models import ChainSync, SyncPhase
from network_app.ports import SyncState
from network_app.selectors import syncs
from network_app.store import sync

pytestmark = pytest.mark.django_db

BEGAN = datetime(2030, 1, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return BEGAN + timedelta(seconds=seconds)


def state(**changes: Any) -> SyncState:
    """Return a chain that has 100 of 1,000 blocks and started at 50, with some changes."""
    return SyncState(
        **{"bootstrapped": False, "start_height": 50, "height": 100, "target_height": 1000}
        | changes
    )


def row(alias: str = "P") -> ChainSync:
    return ChainSync.objects.get(chain=alias)


def test_bootstrap_progress_is_stored_to_its_end() -> None:
    sync.write("P", state(fetched=7), at(0))
    first = row()
    assert (first.phase, first.start_height, first.height) == (SyncPhase.BOOTSTRAPPING, 50, 100)
    assert (first.target_height, first.fetched, first.started_at) == (1000, 7, at(0))
    assert (first.finished_at, first.seconds_left, first.blocks_per_second) == (None, None, None)

    sync.write("P", state(height=500, start_height=51, target_height=1200), at(10))
    second = row()
    assert (second.start_height, second.height, second.target_height) == (50, 500, 1200)
    assert (second.started_at, second.updated_at, second.finished_at) == (at(0), at(10), None)

    sync.write("P", state(bootstrapped=True, height=1200, target_height=1200), at(20))
    third = row()
    assert (third.phase, third.height) == (SyncPhase.BOOTSTRAPPED, 1200)
    assert (third.finished_at, third.seconds_left) == (at(20), 0.0)


def test_bootstrapped_chain_stores_following_state() -> None:
    sync.write("P", state(bootstrapped=True), at(0))
    oldest = at(3).timestamp()
    following = state(bootstrapped=True, height=1300, outstanding=2, oldest_outstanding=oldest)
    sync.write("P", following, at(5))

    found = row()
    assert (found.finished_at, found.updated_at) == (at(0), at(5))
    assert (found.outstanding, found.oldest_outstanding_at) == (2, at(3))
    assert found.target_height == 1300  # never below the accepted height
    sync.write("P", following._replace(outstanding=0, oldest_outstanding=None), at(6))
    assert (row().outstanding, row().oldest_outstanding_at) == (0, None)


def test_chain_that_falls_behind_restarts_its_progress() -> None:
    sync.write("P", state(), at(0))
    sync.measure(at(10))
    sync.write("P", state(bootstrapped=True), at(20))

    sync.write("P", state(start_height=1000, height=1000, target_height=5000), at(30))

    found = row()
    assert (found.phase, found.start_height, found.started_at) == (
        SyncPhase.BOOTSTRAPPING, 1000, at(30),
    )  # fmt: skip
    assert (found.finished_at, found.blocks_per_second, found.measured_height) == (None, None, 1000)
    assert found.percent == 0


def test_stalled_chain_has_no_time_left() -> None:
    sync.write("P", state(), at(0))
    sync.write("P", state(height=101), at(10))
    (measured,) = sync.measure(at(10))
    assert measured.seconds_left == 899 * 10
    for seconds in range(20, 2000, 10):
        (measured,) = sync.measure(at(seconds))
        assert measured.seconds_left is None or measured.seconds_left < sync.LONGEST
    assert measured.seconds_left is None


def test_rate_is_the_average_of_measurements() -> None:
    sync.write("P", state(height=100), at(0))
    sync.write("P", state(height=300), at(9))
    (measured,) = sync.measure(at(10))
    assert (measured.blocks_per_second, measured.seconds_left) == (20.0, 35.0)

    sync.write("P", state(height=400), at(12))
    (measured,) = sync.measure(at(20))
    assert measured.blocks_per_second == (10 + 20) / 2
    assert measured.seconds_left == 600 / 15

    (measured,) = sync.measure(at(30))  # no new blocks
    assert measured.blocks_per_second == 7.5


def test_unmoved_chain_has_no_time_left() -> None:
    sync.write("P", state(), at(0))
    (measured,) = sync.measure(at(10))

    assert (measured.blocks_per_second, measured.seconds_left) == (0.0, None)


def test_rates_are_measured_over_two_seconds_at_least() -> None:
    sync.write("P", state(height=100), at(0))
    sync.write("P", state(height=200), at(1))
    (early,) = sync.measure(at(1.9))
    assert early.blocks_per_second is None
    (measured,) = sync.measure(at(2))
    assert measured.blocks_per_second == 50.0


def test_only_chains_that_are_on_their_way_are_measured() -> None:
    sync.write("P", state(bootstrapped=True), at(0))
    sync.write("C", state(), at(0))

    assert [item.chain for item in sync.measure(at(10))] == ["C"]
    assert row("P").blocks_per_second is None


def test_measurement_and_progress_do_not_overwrite_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sync.write("P", state(height=100), at(0))
    sync.write("P", state(height=300), at(5))
    save = ChainSync.save

    def between(self: ChainSync, **given: Any) -> None:
        monkeypatch.setattr(ChainSync, "save", save)
        sync.measure(at(10))
        save(self, **given)

    monkeypatch.setattr(ChainSync, "save", between)
    sync.write("P", state(height=400), at(10))

    assert (row().height, row().blocks_per_second) == (400, 20.0)


def test_new_run_clears_state_of_earlier_runs() -> None:
    sync.write("P", state(bootstrapped=True), at(0))
    sync.write("C", state(), at(0))
    assert list(syncs()) == ["P", "C"]

    sync.clear()

    assert syncs() == {}


@pytest.mark.parametrize(
    ("height", "done", "percent"),
    [(50, False, 0), (525, False, 50), (999, False, 99), (1000, False, 99), (60, True, 100)],
)
def test_percent_of_the_way(height: int, percent: int, *, done: bool) -> None:
    sync.write("P", state(height=height, bootstrapped=done), at(0))

    assert row().percent == percent


def test_empty_distance_is_complete_only_when_bootstrapped() -> None:
    sync.write("P", state(start_height=9, height=9, target_height=9), at(0))
    assert row().percent == 0
    sync.write("P", state(bootstrapped=True, start_height=9, height=9, target_height=9), at(1))
    assert row().percent == 100


@pytest.mark.parametrize(
    ("start", "height", "target", "percent", "words"),
    [
        (0, 832, 3003, 27, "832 of 3,003 blocks"),
        (12_300, 12_612, 12_681, 81, "312 of 381 blocks since height 12,300"),
        (12_300, 12_300, 12_301, 0, "0 of 1 block since height 12,300"),
        (12_300, 12_300, 0, 0, "at height 12,300"),
    ],
)
def test_progress_text_and_percentage_agree(
    start: int, height: int, target: int, percent: int, words: str
) -> None:
    sync.write("C", state(start_height=start, height=height, target_height=target), at(0))

    assert (row("C").percent, row("C").progress_text) == (percent, words)


def test_a_chain_that_is_done_is_at_a_height() -> None:
    sync.write("C", state(), at(0))
    sync.write("C", state(bootstrapped=True, height=1300), at(1))

    assert row("C").progress_text == "at height 1,300"


def test_obstacle_is_stored_and_cleared() -> None:
    words = "all 5 validators accepted P-Chain block 22, which this node's rules refuse: too long"
    sync.write("P", state(height=21, obstacle=words), at(1))
    assert row().obstacle == words
    sync.write("P", state(height=22), at(2))
    assert row().obstacle is None
