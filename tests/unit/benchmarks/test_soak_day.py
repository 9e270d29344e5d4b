"""The verdict of a day in virtual time: each bar is missed alone, and the settled hours are compared."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.soak_hours import (
    DiskPrediction,
    HourSample,
    SoakedDay,
    day_figures,
    day_markdown,
    day_passes,
)
from benchmarks.soak_verdict import SentTransactions

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
