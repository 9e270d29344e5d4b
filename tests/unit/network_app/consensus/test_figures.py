"""The figures of consensus: processing blocks and their ages, polls per decision, absent validators."""

import asyncio
from collections import Counter
from dataclasses import replace
from typing import Any

from network_app.consensus.figures import REMEMBERED, Figures
from network_app.consensus.report import LATENCIES, WORK, OpenPoll, StakeReport
from network_app.proposervm.ports import Proposal
from network_app.snowman.engine import SnowmanEngine
from network_app.snowman.polls import Reason
from network_app.snowman.topological import Topological, VoteDecision
from network_app.wire import p2p_pb2 as p2p
from tests.builders.chain_vm import GENESIS, TextBlock, text_block
from tests.builders.voting import OWN, PEERS, QUICK, Voter, virtually

UNSIGNED = Proposal()
A, RIVAL = text_block(GENESIS, "a"), text_block(GENESIS, "rival")


class Case:
    """The figures of an engine that is only a tree, with a clock that the test advances."""

    def __init__(self) -> None:
        self.now = 100.0
        self.figures: Figures[TextBlock] = Figures(
            "P", lambda: self.now, lambda: 1_700_000_000 + self.now
        )
        self.begin()

    def begin(self, last: TextBlock = GENESIS) -> None:
        engine: Any = SnowmanEngine(None, None, None, QUICK, last)  # type: ignore[arg-type, type-var]
        self.tree: Topological = engine.tree
        self.engine = engine
        self.figures.begin(engine)

    def issue(
        self,
        *blocks: TextBlock,
        proposal: Proposal = UNSIGNED,
        seconds: float = 0.0,
        is_own: bool = False,
    ) -> None:
        for block in blocks:
            self.tree.add(block.block_id, block.parent_id, block.height)
            self.figures.issued(block, proposal, seconds, is_own=is_own)

    def poll(self, block: TextBlock, votes: int = 5) -> list[VoteDecision]:
        decisions = self.tree.record_poll({block.block_id: votes})
        self.figures.decided(decisions, 0.25)
        return decisions


def test_report_shows_processing_blocks_with_age() -> None:
    case = Case()
    case.issue(A)
    case.now += 2.5
    case.issue(RIVAL)
    case.poll(A)
    shown = case.figures.processing()
    assert [(other.block_id, other.seconds) for other in shown] == [
        (A.block_id, 2.5),
        (RIVAL.block_id, 0.0),
    ]
    assert [item.preferred for item in shown] == [True, False]
    assert shown[0].confidence == 1
    assert shown[0].parent_id == GENESIS.block_id
    assert case.figures.max_verified_height == 1


def test_report_shows_decisions_with_latency_and_polls() -> None:
    case = Case()
    case.issue(A, RIVAL)
    case.poll(A)
    case.now += 1.5
    assert case.poll(A)
    assert case.figures.processing() == ()
    decided, rejected = case.figures.decisions()
    assert (decided.block_id, decided.parent_id, decided.height) == (
        A.block_id, GENESIS.block_id, 1,
    )  # fmt: skip
    assert (decided.seconds, decided.polls, decided.rejected) == (1.5, 2, 1)
    assert (decided.issued_at, decided.decided_at) == (1_700_000_100.0, 1_700_000_101.5)
    assert (rejected.block_id, rejected.seconds, rejected.rejected) == (RIVAL.block_id, 1.5, 0)
    assert [decided.accepted, rejected.accepted] == [True, False]
    totals = case.figures.totals()
    assert totals.accepted == (1, 1.5, 2, len(A.raw))
    assert totals.rejected == (1, 1.5, 2, len(RIVAL.raw))
    assert totals.latencies == (0, 1, *[0] * (len(LATENCIES) - 1))
    assert (totals.successful_polls, totals.failed_polls) == (2, 0)


def test_counters_survive_an_engine_but_processing_blocks_do_not() -> None:
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


def test_report_shows_proposer_delay_and_work_of_blocks() -> None:
    case = Case()
    proposal = Proposal(PEERS[0], slot=1, time=1_700_000_098)
    case.issue(A, proposal=proposal, seconds=0.5)
    assert case.figures.processing()[0].proposer == PEERS[0]
    assert case.figures.processing()[0].issued_at == 1_700_000_100.0
    case.poll(A)
    case.now += 1.0
    case.poll(A)
    assert case.figures.decisions()[0].proposer == PEERS[0]
    totals = case.figures.totals()
    assert totals.lag == 3.0
    assert totals.work.seconds == 0.75
    assert [place for place, number in enumerate(totals.work.counts) if number] == [WORK.index(1.0)]


def test_equivocations_survive_an_engine_without_repetition() -> None:
    case = Case()
    proposal = Proposal(PEERS[0], slot=0, time=1_700_000_098)
    case.issue(A, RIVAL, proposal=proposal)
    case.begin()
    case.issue(A, RIVAL, proposal=proposal)
    assert case.figures.totals().equivocations == 1
    (found,) = case.figures.equivocations.latest()
    assert (found.proposer, found.first, found.second) == (PEERS[0], A.block_id, RIVAL.block_id)


def test_polls_are_open_until_they_are_finished_and_their_time_is_counted() -> None:
    case = Case()
    case.issue(A)
    case.engine.polls.add(1, Counter({PEERS[0]: 4, PEERS[1]: 1}))
    case.figures.stepped()
    case.now += 2.0
    case.engine.polls.vote(1, PEERS[1], A.block_id)
    case.engine.polls.add(2, Counter({PEERS[0]: 5}))
    case.figures.stepped()
    assert case.figures.polls() == (
        OpenPoll(1_700_000_100.0, 5, 1),
        OpenPoll(1_700_000_102.0, 5, 0),
    )
    case.now += 1.0
    case.engine.polls.vote(1, PEERS[0], A.block_id)
    case.figures.stepped()
    assert [poll.asked for poll in case.figures.polls()] == [5]
    assert case.figures.totals().poll_seconds[Reason.EXHAUSTED] == 3.0
    case.figures.end()
    assert case.figures.polls() == ()


def test_only_the_latest_decisions_are_shown() -> None:
    case = Case()
    line = [GENESIS]
    for number in range(REMEMBERED + 5):
        line.append(text_block(line[-1], f"{number}"))
        case.issue(line[-1])
        while not case.poll(line[-1]):
            pass
    assert [decision.height for decision in case.figures.decisions()] == list(
        range(6, REMEMBERED + 6)
    )
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
            assert 1.0 <= max(block.seconds for block in report.processing) < 1.1
            tables = report.tables
            assert (tables.polls, tables.requests, tables.pending, tables.blockers) == (1, 1, 1, 1)
            assert (tables.processing, len(report.polls)) == (1, 1)
            assert report.stake == StakeReport(5, 5000, {})
            assert report.obstacle is None
        ended = voter.runner.report()
        assert not ended.is_running
        assert ended.processing == ()

    virtually(run())


def test_obstacle_names_missing_stake_in_percent() -> None:
    async def run() -> None:
        report = Voter().runner.report()
        stake = StakeReport(2, 10_000, {PEERS[0]: 2001})
        assert replace(report, stake=stake).obstacle == "hears 79 % of the stake, needs 80 %"
        assert replace(report, stake=StakeReport(2, 10_000, {OWN: 2000})).obstacle is None
        nobody = replace(report, stake=StakeReport(0, 0, {}))
        assert nobody.obstacle == "hears 0 % of the stake, needs 80 %"

    virtually(run())
