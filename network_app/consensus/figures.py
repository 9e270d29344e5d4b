"""Statistics of a chain's blocks. They outlive the engine, which may restart."""

import time
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from typing_extensions import override

from chainvm.port import Block
from network_app.consensus.producers import Equivocations
from network_app.consensus.report import (
    LATENCIES,
    WORK,
    ConsensusTotals,
    DecidedBlock,
    Issues,
    OpenPoll,
    Outcomes,
    Proposals,
    ReportedBlock,
    Tables,
    Work,
)
from network_app.consensus.vm import BlockObserver, BuildOutcome
from network_app.proposervm.ports import Proposal
from network_app.snowman.counts import Counts
from network_app.snowman.engine import SnowmanEngine
from network_app.snowman.polls import Poll, Reason
from network_app.snowman.topological import VoteDecision
from primitives.ids import ID

REMEMBERED = 1000
"""Number of decisions that are kept in memory until they are written to the database."""

B = TypeVar("B", bound=Block)


class _IssuedBlock(NamedTuple):
    block: Block
    proposal: Proposal
    at: float
    unix: float
    polls: int
    """Number of polls that had finished when the block was issued."""
    work: float
    """Seconds spent on building and verifying the block."""


class _PollResult(NamedTuple):
    poll: Poll
    asked: int
    """Number of votes requested."""
    at: float
    unix: float


class Figures(BlockObserver[B], Generic[B]):
    """Counters since the process started, and the blocks that are processing.

    Args:
        alias: Alias of the chain, for the log.
        clock: Returns seconds, monotonic.
        now: Returns Unix seconds.
    """

    def __init__(
        self,
        alias: str,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._clock = clock
        self._now = now
        self._engine: SnowmanEngine[Any] | None = None
        self._issued: dict[ID, _IssuedBlock] = {}
        self._decided: deque[DecidedBlock] = deque(maxlen=REMEMBERED)
        self._accepted = self._rejected = Outcomes()
        self._latencies = [0] * (len(LATENCIES) + 1)
        self._polls: Counter[bool] = Counter()
        self._finished: Counter[Reason] = Counter()
        self._open: dict[int, _PollResult] = {}
        self._poll_seconds: dict[Reason, float] = dict.fromkeys(Reason, 0.0)
        self._builds: Counter[BuildOutcome] = Counter()
        self._decisions = 0
        self._lag = 0.0
        self._work = [0] * (len(WORK) + 1)
        self._work_seconds = 0.0
        self.equivocations = Equivocations(alias)
        self._begun = 0
        self._proposals = Proposals()
        self.counts = Counts()
        """Counters shared by all engines: each engine continues where the previous one ended."""
        self.max_verified_height = 0

    def begin(self, engine: SnowmanEngine[Any]) -> None:
        """Note that an engine starts, without any processing blocks."""
        self.end()
        self._begun += 1
        self._engine = engine

    def end(self) -> None:
        """Note that the engine has ended and that its processing blocks are dropped."""
        self._polls, self._finished = self._all_polls()
        self._engine = None
        self._issued.clear()
        self._open.clear()

    @override
    def issued(self, block: B, proposal: Proposal, seconds: float, *, is_own: bool) -> None:
        now = self._now()
        if is_own and proposal.time is not None:
            self._proposals = self._proposals.built(proposal, now)
        self._issued[block.block_id] = _IssuedBlock(
            block, proposal, self._clock(), round(now, 3), self._polls_of_engine(), seconds
        )
        self.max_verified_height = max(self.max_verified_height, block.height)
        self.equivocations.look(block, proposal, now)

    @override
    def decided(self, decisions: Sequence[VoteDecision], seconds: float) -> None:
        now = self._now()
        for decision in decisions:
            issued, decided = self._settle(decision.accepted, now, rejected=len(decision.rejected))
            self._accepted = _plus(self._accepted, issued.block, decided)
            self._latencies[bisect_left(LATENCIES, decided.seconds)] += 1
            work = issued.work + seconds / len(decisions)
            self._work[bisect_left(WORK, work)] += 1
            self._work_seconds += work
            self._proposals = self._proposals.accepted(issued.proposal)
            if issued.proposal.time is not None:
                self._lag += max(0.0, now - issued.proposal.time)
            for block_id in decision.rejected:
                issued, decided = self._settle(block_id, now)
                self._rejected = _plus(self._rejected, issued.block, decided)

    def stepped(self) -> None:
        """Note a step of the engine, which may have started or finished polls."""
        if self._engine is None:
            return
        polls, now = self._engine.polls.open, self._clock()
        for request_id in [item for item in self._open if item not in polls]:
            ended = self._open.pop(request_id)
            if ended.poll.reason is not None:
                self._poll_seconds[ended.poll.reason] += now - ended.at
        for request_id, poll in polls.items():
            if request_id not in self._open:
                self._open[request_id] = _PollResult(
                    poll, poll.parameters.k, now, round(self._now(), 3)
                )

    @override
    def built(self, outcome: BuildOutcome) -> None:
        self._builds[outcome] += 1

    # --- reporting

    def processing(self) -> tuple[ReportedBlock, ...]:
        """Return the blocks that are processing."""
        if self._engine is None:
            return ()
        tree, now = self._engine.tree, self._clock()
        return tuple(
            ReportedBlock(
                block_id,
                issued.block.parent_id,
                issued.block.height,
                now - issued.at,
                tree.is_preferred(block_id),
                tree.confidence(block_id),
                issued.proposal.proposer,
                issued.unix,
            )
            for block_id, issued in self._issued.items()
            if tree.is_processing(block_id)
        )

    def polls(self) -> tuple[OpenPoll, ...]:
        """Return the open polls, oldest first."""
        return tuple(
            OpenPoll(item.unix, item.asked, item.asked - item.poll.outstanding.total())
            for item in self._open.values()
        )

    def decisions(self) -> tuple[DecidedBlock, ...]:
        """Return the most recent decisions, oldest first."""
        return tuple(self._decided)

    def tables(self, waiting: int) -> Tables:
        """Return the sizes of the engine's tables.

        Args:
            waiting: Number of items still queued for the engine.
        """
        engine = self._engine
        if engine is None:
            return Tables(waiting=waiting)
        return Tables(
            processing=len(engine.tree),
            polls=len(engine.polls),
            requests=len(engine.requested),
            pending=len(engine.pending),
            blockers=engine.blockers,
            unverified=len(engine.unverified),
            waiting=waiting,
        )

    def totals(self) -> ConsensusTotals:
        """Return the counters."""
        polls, finished = self._all_polls()
        return ConsensusTotals(
            successful_polls=polls[True],
            failed_polls=polls[False],
            finished_polls=finished,
            accepted=self._accepted,
            rejected=self._rejected,
            latencies=tuple(self._latencies),
            built=self._builds[BuildOutcome.BLOCK],
            failed_builds=self._builds[BuildOutcome.FAILED],
            restarts=max(self._begun - 1, 0),
            decisions=self._decisions,
            poll_seconds=dict(self._poll_seconds),
            lag=self._lag,
            work=Work(tuple(self._work), self._work_seconds),
            equivocations=self.equivocations.count,
            issues=Issues.of(self.counts),
            proposals=self._proposals,
        )

    # --- counting

    def _settle(
        self, block_id: ID, now: float, rejected: int | None = None
    ) -> tuple[_IssuedBlock, DecidedBlock]:
        """Record the decision on a block; it was accepted unless `rejected` is None."""
        issued = self._issued.pop(block_id)
        block = issued.block
        decided = DecidedBlock(
            block_id,
            block.height,
            self._clock() - issued.at,
            self._polls_of_engine() - issued.polls,
            rejected or 0,
            rejected is not None,
            block.parent_id,
            issued.proposal.proposer,
            issued.unix,
            round(now, 3),
        )
        self._decided.append(decided)
        self._decisions += 1
        return issued, decided

    def _polls_of_engine(self) -> int:
        assert self._engine is not None
        return self._engine.tree.successful_polls + self._engine.tree.failed_polls

    def _all_polls(self) -> tuple[Counter[bool], Counter[Reason]]:
        polls, finished = self._polls.copy(), self._finished.copy()
        if self._engine is not None:
            tree = self._engine.tree
            polls.update({True: tree.successful_polls, False: tree.failed_polls})
            finished.update(self._engine.polls.finished)
        return polls, finished


def _plus(sums: Outcomes, block: Block, decided: DecidedBlock) -> Outcomes:
    return Outcomes(
        sums.blocks + 1,
        sums.seconds + decided.seconds,
        sums.polls + decided.polls,
        sums.size + len(block.raw),
    )
