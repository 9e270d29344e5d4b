"""The verdict of a day in virtual time: each bar is missed alone, and the settled hours are compared."""

import os
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import soak_day
from benchmarks.node import DATA_DIR
from benchmarks.rpc import RpcFailed
from benchmarks.soak_clients import SoakTally
from benchmarks.soak_day import READS, DayLoad
from benchmarks.soak_hours import (
    DiskPrediction,
    HourSample,
    SoakedDay,
    day_figures,
    day_markdown,
    day_passes,
)
from benchmarks.soak_verdict import SentTransactions
from tests.builders.modules import module_with

MIB = 2**20


def hours(**changes: Any) -> list[HourSample]:
    """Return the samples of 24 equal hours after the beginning; changes apply to the last eight."""
    found = [
        HourSample(
            blocks=1_800 * hour, memory=100 * MIB, mapped=10 * MIB, disk=18_000_000 * hour,
            processor=20.0 * hour, reads=[0.001] * 99 + [0.004], pages=[0.02],
        )
        for hour in range(25)
    ]  # fmt: skip
    return [*found[:17], *(item._replace(**changes) for item in found[17:])]


GOOD = SoakedDay(
    hours=hours(),
    sent=[SentTransactions("C-Chain", 1, Counter({"0xa": 1}))],
    subscribers=20,
    lost=0,
    doubled=0,
    errors=Counter(),
    prediction=DiskPrediction("docs/capacity.md", 9_500.0),
)


def test_an_even_day_passes() -> None:
    assert day_passes(GOOD)
    assert GOOD.settled == 6
    assert GOOD.disk_per_block == pytest.approx(10_000)
    text = day_markdown(GOOD, ["a machine"])
    assert "✗" not in text
    assert text.count("\n| ") == len(list(day_figures(GOOD))) + 2 + 2 + 24


def test_what_happens_before_the_caches_are_full_does_not_count() -> None:
    early = [item._replace(memory=50 * MIB, disk=0) for item in GOOD.hours[:6]]
    assert day_passes(replace(GOOD, hours=[*early, *GOOD.hours[6:]]))


def test_a_short_day_has_a_verdict() -> None:
    assert day_passes(replace(GOOD, hours=GOOD.hours[:4]))


@pytest.mark.parametrize(
    ("changes", "title"),
    [
        ({"sent": [SentTransactions("C-Chain", 1, Counter())]}, "C-Chain: lost"),
        ({"sent": [SentTransactions("C-Chain", 1, Counter({"0xa": 2}))]}, "C-Chain: doubled"),
        ({"lost": 1}, "Notifications to 20 subscribers: lost"),
        ({"doubled": 1}, "Notifications: doubled"),
        ({"errors": Counter({"Reader: TimeoutError": 1})}, "Errors"),
        ({"hours": hours(memory=102 * MIB)}, "Growth of memory since the caches are full"),
        ({"hours": hours(reads=[0.001] * 98 + [0.006] * 2)}, "Read, p99, last third of the hours ÷ first"),
        ({"prediction": DiskPrediction("docs/capacity.md", 8_500.0)},
         "Disk for a block, kB (docs/capacity.md: 8.50)"),
        ({"prediction": DiskPrediction("docs/capacity.md", 12_000.0)},
         "Disk for a block, kB (docs/capacity.md: 12.00)"),
    ],
)  # fmt: skip
def test_each_bar_of_a_day_is_missed_alone(changes: dict[str, Any], title: str) -> None:
    missed = replace(GOOD, **changes)

    assert not day_passes(missed)
    assert [figure.title for figure in day_figures(missed) if not figure.passed] == [title]


def test_blocks_that_cost_more_later_are_noticed() -> None:
    dearer = [
        item._replace(processor=item.processor + max(0, place - 16) * 10.0)
        for place, item in enumerate(GOOD.hours)
    ]
    found = [figure for figure in day_figures(replace(GOOD, hours=dearer)) if not figure.passed]
    assert [figure.title for figure in found] == ["Processor time of a block, likewise"]


class FailingClient:
    """A client of a node whose clock and head cannot be asked at some heights."""

    def __init__(self, clock_fails: int, head_fails: int) -> None:
        self.head = 0
        self._clock_fails, self._head_fails = clock_fails, head_fails

    def call(self, method: str, *_params: object) -> None:
        if self.head == self._clock_fails:
            raise RpcFailed(f"{method}: no clock")

    def height(self) -> int:
        if self.head == self._head_fails:
            raise RpcFailed("eth_blockNumber: no head")
        return self.head


def day_load(client: FailingClient, directory: Path) -> DayLoad:
    """Return the load of a node that is a client's height only: each batch makes a block."""
    load: Any = DayLoad.__new__(DayLoad)

    def mine() -> None:
        client.head += 1

    def read() -> None:
        load.tally.reads.append(float(client.head))

    load.server = SimpleNamespace(
        environment={DATA_DIR: str(directory)},
        anonymous_memory=lambda: 1,
        memory=lambda: 2,
        processor_seconds=lambda: 0.0,
    )
    load.scene = SimpleNamespace(client=client)
    load.sender, load._reader = SimpleNamespace(attempt=mine), SimpleNamespace(attempt=read)
    load.tally, load.samples, load._rare = SoakTally(), [], ()
    load.hours, load.ending = 4, threading.Event()
    load.first = load.head = load._reads = load._pages = 0
    found: DayLoad = load
    return found


def test_errors_of_the_clock_and_of_a_sample_are_counted(tmp_path: Path) -> None:
    load = day_load(FailingClient(clock_fails=0, head_fails=2), tmp_path)
    load.run(4)

    assert load.tally.errors == {
        "DayLoad: RpcFailed evm_increaseTime: no clock": 1,
        "DayLoad: RpcFailed eth_blockNumber: no head": 1,
    }
    assert [hour.blocks for hour in load.samples] == [0, 1, 3, 4]
    assert load.samples[2].reads == [2.0] * READS + [3.0] * READS  # with those of the hour without
    assert load.head == 4


def test_a_day_whose_last_head_is_unknown_ends_at_the_one_before(tmp_path: Path) -> None:
    load = day_load(FailingClient(clock_fails=-1, head_fails=4), tmp_path)
    load.run(4)

    assert load.tally.errors == {"DayLoad: RpcFailed eth_blockNumber: no head": 2}
    assert load.head == 3


def test_a_file_that_disappears_has_no_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, size in (("kept", 3), ("below/kept", 4), ("gone", 5)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(bytes(size))
    walk = os.walk

    def walk_and_delete(top: Path) -> Iterator[tuple[str, list[str], list[str]]]:
        for found in walk(top):
            (tmp_path / "gone").unlink(missing_ok=True)
            yield found

    assert soak_day._size(tmp_path) == 12
    monkeypatch.setattr(soak_day, "os", module_with(os, walk=walk_and_delete))
    assert soak_day._size(tmp_path) == 7
