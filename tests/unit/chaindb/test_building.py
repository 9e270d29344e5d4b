"""Blocks in progress are visible in their own process, and in others through the cache."""

import itertools
import os
import threading
import time
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.cache import cache

from chaindb import building as module
from chaindb.building import BlocksInProgress

SECONDS = 30.0
"""Limit of the wait for the thread that shares blocks."""


class _Broken:
    """A cache that is unavailable."""

    def set(self, *_: Any) -> None:
        raise ConnectionError("away")

    get_many = delete = set


Make = Callable[[str], BlocksInProgress]
"""Creates the record of a chain's blocks in progress in a process of the node."""


@pytest.fixture
def production(settings: Any) -> Make:
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    cache.clear()
    return partial(BlocksInProgress, profile="production")


@pytest.fixture
def embedded() -> Make:
    return partial(BlocksInProgress, profile="embedded")


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Callable[[], bool]:
    """Return a function that waits until one more block was shared and returns whether it was."""
    done = threading.Semaphore(0)
    share = BlocksInProgress._share

    def share_and_tell(*block: Any) -> None:
        share(*block)
        done.release()

    monkeypatch.setattr(BlocksInProgress, "_share", share_and_tell)
    return partial(done.acquire, timeout=SECONDS)


def heights(building: BlocksInProgress) -> list[int]:
    return [height for height, _ in building.outstanding()]


@pytest.fixture(params=["embedded", "production"])
def make(request: pytest.FixtureRequest) -> Make:
    made: Make = request.getfixturevalue(request.param)
    return made


def test_a_block_is_outstanding_while_it_is_made(make: Make) -> None:
    building, other = make("C"), make("P")
    with building.count(7):
        ((height, seconds),) = building.outstanding()
        assert height == 7
        assert seconds >= 0
        assert other.outstanding() == []
    assert building.outstanding() == []


def test_a_block_that_failed_is_not_outstanding(make: Make) -> None:
    building = make("P")
    with pytest.raises(KeyError), building.count(1):
        raise KeyError
    assert building.outstanding() == []


def test_the_oldest_is_first(embedded: Make) -> None:
    building = embedded("C")
    with building.count(9), building.count(8):
        assert heights(building) == [9, 8]


def test_the_age_counts_from_the_beginning(embedded: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    times = [1000.0, 1012.5]
    monkeypatch.setattr(
        module, "time", SimpleNamespace(time=lambda: times.pop(0), monotonic=lambda: 0.0)
    )
    building = embedded("C")
    with building.count(3):
        assert building.outstanding() == [(3, 12.5)]


def test_a_clock_that_is_behind_makes_no_negative_age(
    production: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = [1000.0, 990.0]
    monkeypatch.setattr(
        module,
        "time",
        SimpleNamespace(time=lambda: times.pop(0), monotonic=lambda: 0.0, sleep=time.sleep),
    )
    building = production("C")
    with building.count(3):
        assert building.outstanding() == [(3, 0.0)]


def test_blocks_in_progress_are_visible_to_other_processes(
    production: Make, shared: Callable[[], bool]
) -> None:
    here, elsewhere = production("C"), production("C")
    with here.count(5):
        assert shared()
        assert (heights(elsewhere), heights(here)) == ([5], [5])
    assert heights(elsewhere) == []


def test_short_work_is_visible_in_its_own_process_only(
    production: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = threading.Event()
    monkeypatch.setattr(
        module,
        "time",
        SimpleNamespace(time=time.time, monotonic=lambda: 0.0, sleep=lambda _: looked.set()),
    )
    here, elsewhere = production("C"), production("C")
    with here.count(5):
        assert looked.wait(SECONDS)
        assert (heights(here), heights(elsewhere)) == ([5], [])
    assert cache.get_many([here._key(slot) for slot in range(module.SLOTS)]) == {}


def test_the_thread_that_looks_after_work_ends_without_any(
    production: Make, shared: Callable[[], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "IDLE", 0.01)
    monkeypatch.setattr(module, "SHARED_AFTER", 0.0)
    here = production("T")
    for height in (1, 2):
        with here.count(height):
            watcher = here._watcher
            assert watcher is not None
            assert shared()
        watcher.join(SECONDS)
        assert not watcher.is_alive()


def test_work_that_ends_while_being_shared_is_removed(
    production: Make, shared: Callable[[], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    setting, ended = threading.Event(), threading.Event()

    class Slow(_Broken):
        """A cache that stores only after the work has ended."""

        def set(self, *entry: Any) -> None:
            setting.set()
            assert ended.wait(SECONDS)
            cache.set(*entry)

        delete = cache.delete

    monkeypatch.setattr(module, "cache", Slow())
    here = production("C")
    with here.count(5):
        assert setting.wait(SECONDS)
    ended.set()
    assert shared()
    monkeypatch.setattr(module, "cache", cache)
    assert heights(production("C")) == []
    assert here._shared_keys == {}


def test_two_chains_do_not_see_each_other(make: Make) -> None:
    first, second = make("C0"), make("C1")
    with first.count(5), second.count(6):
        assert (heights(first), heights(second)) == ([5], [6])


def test_two_processes_are_seen_beside_each_other(
    production: Make, shared: Callable[[], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = module._slot_of(os.getpid())
    other = next(pid for pid in itertools.count(1) if module._slot_of(pid) != own)
    building, elsewhere = production("C"), production("C")
    with building.count(5):
        monkeypatch.setattr(module, "os", SimpleNamespace(getpid=lambda: other))
        with building.count(6):
            assert shared()
            assert shared()
            assert heights(elsewhere) == [5, 6]


def test_blocks_are_made_while_the_cache_is_away(
    production: Make,
    shared: Callable[[], bool],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(module, "cache", _Broken())
    building, made = production("C"), []
    with building.count(5):
        made.append(5)
        assert shared()
    assert made == [5]
    assert "a block in progress is not shown: away" in caplog.text
    with pytest.raises(ConnectionError, match="away"):
        building.outstanding()
