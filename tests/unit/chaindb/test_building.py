"""Blocks in the making: seen by their own process, and through the cache by others."""

import itertools
import os
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.cache import cache

from chaindb import building as module
from chaindb.building import building, outstanding
from chaindb.chains import Chain


class _Broken:
    """A cache that is away."""

    def set(self, *_: Any) -> None:
        raise ConnectionError("away")

    get_many = delete = set


@pytest.fixture
def production(settings: Any) -> None:
    settings.NODE = replace(settings.NODE, profile="production")
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    cache.clear()


@pytest.fixture
def embedded(settings: Any) -> None:
    settings.NODE = replace(settings.NODE, profile="embedded")


@pytest.mark.parametrize("profile", ["embedded", "production"])
def test_a_block_is_outstanding_while_it_is_made(
    profile: str, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue(profile)
    with building(Chain.C, 7):
        ((height, seconds),) = outstanding(Chain.C)
        assert height == 7
        assert seconds >= 0
        assert outstanding(Chain.P) == []
    assert outstanding(Chain.C) == []


@pytest.mark.parametrize("profile", ["embedded", "production"])
def test_a_block_that_failed_is_not_outstanding(
    profile: str, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue(profile)
    with pytest.raises(KeyError), building(Chain.P, 1):
        raise KeyError
    assert outstanding(Chain.P) == []


def test_the_oldest_is_first(embedded: None) -> None:
    with building(Chain.C, 9), building(Chain.C, 8):
        assert [height for height, _ in outstanding(Chain.C)] == [9, 8]


def test_the_age_counts_from_the_beginning(embedded: None, monkeypatch: pytest.MonkeyPatch) -> None:
    times = [1000.0, 1012.5]
    monkeypatch.setattr(
        module, "time", SimpleNamespace(time=lambda: times.pop(0), monotonic=lambda: 0.0)
    )
    with building(Chain.C, 3):
        assert outstanding(Chain.C) == [(3, 12.5)]


def test_a_clock_that_is_behind_makes_no_negative_age(
    production: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = [1000.0, 990.0]
    monkeypatch.setattr(
        module, "time", SimpleNamespace(time=lambda: times.pop(0), monotonic=lambda: 0.0)
    )
    with building(Chain.C, 3):
        assert outstanding(Chain.C) == [(3, 0.0)]


def test_another_process_sees_what_this_one_makes(
    production: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with building(Chain.C, 5):
        monkeypatch.setattr(module, "_table", {})  # as in another process
        assert [height for height, _ in outstanding(Chain.C)] == [5]
        monkeypatch.undo()


def test_two_processes_are_seen_beside_each_other(
    production: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = module._slot_of(os.getpid())
    other = next(pid for pid in itertools.count(1) if module._slot_of(pid) != own)
    with building(Chain.C, 5):
        monkeypatch.setattr(module, "os", SimpleNamespace(getpid=lambda: other))
        with building(Chain.C, 6):
            assert [height for height, _ in outstanding(Chain.C)] == [5, 6]


def test_blocks_are_made_while_the_cache_is_away(
    production: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "cache", _Broken())
    made = []
    with building(Chain.C, 5):
        made.append(5)
    assert made == [5]
    assert "a block in the making is not shown: away" in caplog.text
    with pytest.raises(ConnectionError, match="away"):
        outstanding(Chain.C)


@pytest.fixture
def observed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Chain, float]]:
    """What an observer is told; the clock goes on by a second at each look."""
    seconds = iter(range(100))
    clock = SimpleNamespace(time=lambda: 0.0, monotonic=lambda: float(next(seconds)))
    monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(module, "_begun", module._Begun())
    told: list[tuple[Chain, float]] = []
    monkeypatch.setattr(module, "_observer", lambda chain, took: told.append((chain, took)))
    return told


def test_an_observer_is_told_how_long_a_block_took(
    embedded: None, observed: list[tuple[Chain, float]]
) -> None:
    with building(Chain.C, 5):
        module.accepted(Chain.C, 5)
    assert observed == [(Chain.C, 1.0)]


def test_blocks_that_were_accepted_together_share_their_time(
    embedded: None, observed: list[tuple[Chain, float]]
) -> None:
    with building(Chain.C, 5):
        module.accepted(Chain.C, 8)
    assert observed == [(Chain.C, 0.25)] * 4


def test_a_block_is_observed_once_and_only_where_it_was_worked_on(
    embedded: None, observed: list[tuple[Chain, float]]
) -> None:
    module.accepted(Chain.P, 3)
    with building(Chain.P, 3):
        module.accepted(Chain.P, 3)
        module.accepted(Chain.P, 3)
        module.accepted(Chain.C, 3)
    assert len(observed) == 1
