"""Counts what becomes of a chain's blocks. Lives longer than the engine, which may begin anew."""

import time
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from typing_extensions import override

from chainvm.port import Block
from network_app.consensus.report import (
    LATENCIES,
    DecidedBlock,
    Outcomes,
    ProcessingBlock,
    Tables,
    Totals,
)
from network_app.consensus.vm import Built, Observer
from network_app.snowman.engine import Engine
from network_app.snowman.polls import Reason
from network_app.snowman.topological import Decision
from primitives.ids import ID

REMEMBERED = 100
"""Decisions that are shown."""

B = TypeVar("B", bound=Block)


class _Issued(NamedTuple):
    block: Block
    at: float
    polls: int


class Figures(Observer[B], Generic[B]):
    """What has happened since the process began, and what is processing.

    Args:
        clock: Seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._engine: Engine[Any] | None = None
        self._issued: dict[ID, _Issued] = {}
        self._decided: deque[DecidedBlock] = deque(maxlen=REMEMBERED)
        self._accepted = self._rejected = Outcomes()
        self._latencies = [0] * (len(LATENCIES) + 1)
        self._polls: Counter[bool] = Counter()
        self._finished: Counter[Reason] = Counter()
        self._builds: Counter[Built] = Counter()
        self._begun = 0
        self.max_verified_height = 0

    def begin(self, engine: Engine[Any]) -> None:
        """Note that an engine begins, with nothing that is processing."""
        self.end()
        self._begun += 1
        self._engine = engine

    def end(self) -> None:
        """Note that the engine has ended, and what was processing with it."""
        self._polls, self._finished = self._all_polls()
        self._engine = None
        self._issued.clear()

    @override
    def issued(self, block: B) -> None:
        self._issued[block.block_id] = _Issued(block, self._clock(), self._polls_of_engine())
        self.max_verified_height = max(self.max_verified_height, block.height)

    @override
    def decided(self, decisions: Sequence[Decision]) -> None:
        for one in decisions:
            issued, seconds, polls = self._settle(one.accepted)
            block = issued.block
            self._accepted = _plus(self._accepted, block, seconds, polls)
            self._latencies[bisect_left(LATENCIES, seconds)] += 1
            self._decided.append(
                DecidedBlock(block.block_id, block.height, seconds, polls, len(one.rejected))
            )
            for rejected in one.rejected:
                issued, seconds, polls = self._settle(rejected)
                self._rejected = _plus(self._rejected, issued.block, seconds, polls)

    @override
    def built(self, outcome: Built) -> None:
        self._builds[outcome] += 1

    # --- what is shown

    def processing(self) -> tuple[ProcessingBlock, ...]:
        """Return what waits for its decision."""
        if self._engine is None:
            return ()
        tree, now = self._engine.tree, self._clock()
        return tuple(
            ProcessingBlock(
                block_id,
                issued.block.parent_id,
                issued.block.height,
                now - issued.at,
                tree.is_preferred(block_id),
                tree.confidence(block_id),
            )
            for block_id, issued in self._issued.items()
            if tree.is_processing(block_id)
        )

    def decisions(self) -> tuple[DecidedBlock, ...]:
        """Return the latest ones, the last one last."""
        return tuple(self._decided)

    def tables(self, waiting: int) -> Tables:
        """Return how full the engine's tables are.

        Args:
            waiting: What it was not told of yet.
        """
        engine = self._engine
        if engine is None:
            return Tables(waiting=waiting)
        return Tables(
            polls=len(engine.polls),
            requests=len(engine.requested),
            pending=len(engine.pending),
            blockers=engine.blockers,
            unverified=len(engine.unverified),
            waiting=waiting,
        )

    def totals(self) -> Totals:
        """Return the counters."""
        polls, finished = self._all_polls()
        return Totals(
            successful_polls=polls[True],
            failed_polls=polls[False],
            finished_polls=finished,
            accepted=self._accepted,
            rejected=self._rejected,
            latencies=tuple(self._latencies),
            built=self._builds[Built.BLOCK],
            failed_builds=self._builds[Built.FAILED],
            restarts=max(self._begun - 1, 0),
        )

    # --- how it counts

    def _settle(self, block_id: ID) -> tuple[_Issued, float, int]:
        issued = self._issued.pop(block_id)
        return issued, self._clock() - issued.at, self._polls_of_engine() - issued.polls

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


def _plus(sums: Outcomes, block: Block, seconds: float, polls: int) -> Outcomes:
    return Outcomes(
        sums.blocks + 1, sums.seconds + seconds, sums.polls + polls, sums.size + len(block.raw)
    )
