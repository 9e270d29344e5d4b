"""How long blocks took, told to whoever observes: from the beginning of the work to the commit."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from chaindb import building as module
from chaindb.building import accepted, building
from chaindb.chains import Chain

Told = list[tuple[Chain, float]]


class _Seconds:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, settings: Any) -> _Seconds:
    settings.NODE = replace(settings.NODE, profile="embedded")
    made = _Seconds()
    monkeypatch.setattr(module, "time", made)
    return made


@pytest.fixture
def told(clock: _Seconds, monkeypatch: pytest.MonkeyPatch) -> Iterator[Told]:
    heard: Told = []
    monkeypatch.setattr(module, "_observer", lambda *what: heard.append(what))
    return heard


def test_a_block_counts_when_it_is_committed(told: Told, clock: _Seconds) -> None:
    with building(Chain.C, 7):
        clock.now += 2
        assert told == []
        accepted(Chain.C, 7)
    assert told == [(Chain.C, 2.0)]


def test_a_commit_may_come_after_the_work(told: Told, clock: _Seconds) -> None:
    with building(Chain.P, 7):
        clock.now += 2
    clock.now += 1
    accepted(Chain.P, 7)
    assert told == [(Chain.P, 3.0)]


def test_blocks_that_were_accepted_together_share_their_time(told: Told, clock: _Seconds) -> None:
    with building(Chain.C, 5):
        clock.now += 8
        accepted(Chain.C, 8)
    assert told == [(Chain.C, 2.0)] * 4


def test_work_that_brought_no_block_is_not_counted(told: Told, clock: _Seconds) -> None:
    with building(Chain.C, 7):
        clock.now += 60
    with building(Chain.C, 7):
        clock.now += 1
        accepted(Chain.C, 7)
    accepted(Chain.C, 8)  # a genesis, or a block of another thread
    assert told == [(Chain.C, 1.0)]


def test_nobody_needs_to_observe(clock: _Seconds, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_observer", None)
    with building(Chain.C, 7):
        accepted(Chain.C, 7)
    heard: Told = []
    module.observe(lambda *what: heard.append(what))
    with building(Chain.C, 8):
        accepted(Chain.C, 8)
    assert len(heard) == 1
