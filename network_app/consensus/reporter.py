"""Stores the state of each chain's consensus in the database, for the processes that show it."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from network_app.consensus.report import ConsensusReport, DecidedBlock
from network_app.ports import AcceptedChain, RunInThread
from network_app.sync.handler import SharedParts
from network_app.sync.requests import Requests


class ReportStore(Protocol):
    """Storage of the network process for other processes. Its methods block: call them in threads."""

    def consensus(self, report: ConsensusReport, decided: Sequence[DecidedBlock]) -> None:
        """Store a chain's report and the decisions since the last report."""


class Reporting(Protocol):
    """This node's part in the consensus of one chain: `runner.Runner`."""

    def report(self) -> ConsensusReport:
        """Return the state of the chain's consensus."""


class ConsensusRecorder:
    """Stores the chains' reports whenever they change.

    Decisions are stored in batches some time after they were made, so no block waits for the database.
    Decisions that could not be stored are stored the next time, as far as they are remembered.

    Args:
        records: The storage.
        run: Runs a blocking call in a thread.
    """

    def __init__(self, records: ReportStore, run: RunInThread) -> None:
        self._records = records
        self._run = run
        self._parts: list[Reporting] = []
        self._written: dict[str, ConsensusReport] = {}

    def watched(
        self, take_part: Callable[[AcceptedChain, SharedParts, Requests], Any] | None
    ) -> Callable[[AcceptedChain, SharedParts, Requests], Any] | None:
        """Wrap `take_part` so that each part it returns is reported; return None if it is None."""
        if take_part is None:
            return None

        def take(chain: AcceptedChain, shared: SharedParts, requests: Requests) -> Any:
            part = take_part(chain, shared, requests)
            self._parts.append(part)
            return part

        return take

    async def report(self) -> None:
        """Store the reports that have changed."""
        for part in self._parts:
            report = part.report()
            before = self._written.get(report.alias)
            if report == before:
                continue
            decided = report.decided_since(0 if before is None else before.totals.decisions)
            await self._run(self._records.consensus, report, decided)
            self._written[report.alias] = report  # set last, so that a failed write is repeated
