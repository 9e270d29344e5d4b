"""What is shown of consensus: what is processing and how long, what was decided by how many polls, who is missing."""

import asyncio
from dataclasses import replace
from typing import Any

from network_app.consensus.figures import REMEMBERED, Figures
from network_app.consensus.report import LATENCIES, Stake
from network_app.snowman.engine import Engine
from network_app.snowman.polls import Reason
from network_app.snowman.topological import Decision, Topological
from network_app.wire import p2p_pb2 as p2p
from tests.builders.chain_vm import GENESIS, TextBlock, text_block
from tests.builders.voting import OWN, PEERS, QUICK, Voter, virtually

A, RIVAL = text_block(GENESIS, "a"), text_block(GENESIS, "rival")


class Case:
    """Figures of an engine that is only a tree, by a clock that stands still unless a test moves it."""

    def __init__(self) -> None:
        self.now = 100.0
        self.figures: Figures[TextBlock] = Figures(lambda: self.now)
        self.begin()

    def begin(self, last: TextBlock = GENESIS) -> None:
        engine: Any = Engine(None, None, None, QUICK, last)  # type: ignore[arg-type, type-var]
        self.tree: Topological = engine.tree
        self.engine = engine
        self.figures.begin(engine)

    def issue(self, *blocks: TextBlock) -> None:
        for block in blocks:
            self.tree.add(block.block_id, block.parent_id, block.height)
            self.figures.issued(block)

    def poll(self, block: TextBlock, votes: int = 5) -> list[Decision]:
        decisions = self.tree.record_poll({block.block_id: votes})
        self.figures.decided(decisions)
        return decisions


def test_what_is_processing_and_for_how_long() -> None:
    case = Case()
    case.issue(A)
    case.now += 2.5
    case.issue(RIVAL)
    case.poll(A)
    shown = case.figures.processing()
    assert [(one.block_id, one.seconds) for one in shown] == [
        (A.block_id, 2.5),
        (RIVAL.block_id, 0.0),
    ]
    assert [one.preferred for one in shown] == [True, False]
    assert shown[0].confidence == 1
    assert shown[0].parent_id == GENESIS.block_id
    assert case.figures.max_verified_height == 1


def test_what_was_decided_and_how_that_came() -> None:
    case = Case()
    case.issue(A, RIVAL)
    case.poll(A)
    case.now += 1.5
    assert case.poll(A)
    assert case.figures.processing() == ()
    (decided,) = case.figures.decisions()
    assert (decided.block_id, decided.height) == (A.block_id, 1)
    assert (decided.seconds, decided.polls, decided.rejected) == (1.5, 2, 1)
    totals = case.figures.totals()
    assert totals.accepted == (1, 1.5, 2, len(A.raw))
    assert totals.rejected == (1, 1.5, 2, len(RIVAL.raw))
    assert totals.latencies == (0, 1, *[0] * (len(LATENCIES) - 1))
    assert (totals.successful_polls, totals.failed_polls) == (2, 0)


def test_counters_outlive_an_engine_and_what_was_processing_does_not() -> None:
    case = Case()
    case.issue(A)
    case.poll(A)
    case.poll(RIVAL, votes=1)
    case.engine.polls.finished[Reason.EXHAUSTED] += 2
    case.begin()
    assert case.figures.processing() == ()
    case.issue(A)
    case.poll(A)
    case.engine.polls.finished[Reason.EXHAUSTED] += 1
    totals = case.figures.totals()
    assert (totals.successful_polls, totals.failed_polls) == (2, 1)
    assert totals.finished_polls == {Reason.EXHAUSTED: 3}
    assert totals.restarts == 1
    case.figures.end()
    assert case.figures.totals() == totals
    assert case.figures.tables(3).waiting == 3


def test_only_the_latest_decisions_are_shown() -> None:
    case = Case()
    line = [GENESIS]
    for number in range(REMEMBERED + 5):
        line.append(text_block(line[-1], f"{number}"))
        case.issue(line[-1])
        while not case.poll(line[-1]):
            pass
    assert [one.height for one in case.figures.decisions()] == list(range(6, REMEMBERED + 6))
    assert case.figures.totals().accepted.blocks == REMEMBERED + 5


def test_a_report_of_a_chain_that_is_being_decided_on() -> None:
    async def run() -> None:
        async with Voter() as voter:
            await voter.hear(PEERS[0], p2p.PushQuery(request_id=1, container=A.raw))
            waits = text_block(text_block(A, "b"), "c")
            await voter.hear(PEERS[0], p2p.PushQuery(request_id=2, container=waits.raw))
            await asyncio.sleep(1.0)
            report = voter.runner.report()
            assert report.is_running
            assert (report.last_accepted, report.last_height) == (GENESIS.block_id, 0)
            assert report.preference == A.block_id
            assert report.max_verified_height == 1
            assert 1.0 <= report.longest_processing < 1.1
            tables = report.tables
            assert (tables.polls, tables.requests, tables.pending, tables.blockers) == (1, 1, 1, 1)
            assert report.stake == Stake(5, 5000, {})
            assert report.obstacle is None
        ended = voter.runner.report()
        assert not ended.is_running
        assert ended.processing == ()
        assert ended.longest_processing == 0.0

    virtually(run())


def test_why_nothing_is_decided_is_said_in_whole_per_cent() -> None:
    async def run() -> None:
        report = Voter().runner.report()
        stake = Stake(2, 10_000, {PEERS[0]: 2001})
        assert replace(report, stake=stake).obstacle == "hears 79 % of the stake, needs 80 %"
        assert replace(report, stake=Stake(2, 10_000, {OWN: 2000})).obstacle is None
        nobody = replace(report, stake=Stake(0, 0, {}))
        assert nobody.obstacle == "hears 0 % of the stake, needs 80 %"

    virtually(run())
