"""Each news of a chain's consensus is written, each decision once, even after a database outage."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from network_app.consensus.report import ConsensusReport, DecidedBlock
from network_app.consensus.reporter import ConsensusRecorder
from tests.builders.consensus_report import REPORT, decided

T = TypeVar("T")


class Away(Exception):
    """The database is unavailable."""


class Node:
    """The consensus of one chain, and the reports written about it."""

    def __init__(self) -> None:
        self.now = REPORT
        self.written: list[tuple[ConsensusReport, list[int]]] = []
        self.is_away = False
        self.reporter = ConsensusRecorder(self, self.run)
        watched = self.reporter.watched(lambda *_: self)
        assert watched is not None
        nothing: Any = None
        assert watched(nothing, nothing, nothing) is self

    def report(self) -> ConsensusReport:
        return self.now

    def consensus(self, report: ConsensusReport, decided: Sequence[DecidedBlock]) -> None:
        if self.is_away:
            raise Away
        self.written.append((report, [item.height for item in decided]))

    async def run(self, work: Callable[..., T], /, *args: object) -> T:
        return work(*args)

    def decide(self, *heights: int) -> None:
        known = self.now.decided + tuple(map(decided, heights))
        totals = replace(self.now.totals, decisions=len(known))
        self.now = replace(self.now, decided=known[-3:], totals=totals)

    @property
    def heights(self) -> list[list[int]]:
        return [heights for _, heights in self.written]


def node() -> Node:
    made = Node()
    made.now = replace(REPORT, totals=replace(REPORT.totals, decisions=0))
    return made


async def test_unchanged_report_is_not_written() -> None:
    one = node()
    await one.reporter.report()
    await one.reporter.report()
    assert len(one.written) == 1
    one.now = replace(one.now, is_running=False)
    await one.reporter.report()
    assert [report.is_running for report, _ in one.written] == [True, False]


async def test_each_decision_is_written_once() -> None:
    one = node()
    one.decide(1, 2)
    await one.reporter.report()
    one.decide(3)
    await one.reporter.report()
    await one.reporter.report()
    assert one.heights == [[1, 2], [3]]


async def test_failed_write_is_repeated_with_the_next_report() -> None:
    one = node()
    one.decide(1)
    one.is_away = True
    with pytest.raises(Away):
        await one.reporter.report()
    one.decide(2)
    one.is_away = False
    await one.reporter.report()
    assert one.heights == [[1, 2]]


async def test_only_the_latest_of_too_many_decisions_are_written() -> None:
    one = node()
    one.decide(1, 2, 3, 4, 5)
    await one.reporter.report()
    assert one.heights == [[3, 4, 5]]


def test_chain_without_voting_is_not_watched() -> None:
    assert node().reporter.watched(None) is None
