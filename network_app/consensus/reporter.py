"""Has written down how each chain is being decided on, for the processes that show it."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from network_app.consensus.report import ConsensusReport, DecidedBlock
from network_app.ports import AcceptedChain, RunInThread
from network_app.sync.handler import Shared
from network_app.sync.requests import Requests


class Records(Protocol):
    """What the network's process writes down for the others. Blocking: for threads."""

    def consensus(self, report: ConsensusReport, decided: Sequence[DecidedBlock]) -> None:
        """Store how a chain is being decided on, and what was decided since the last time."""


class Reporting(Protocol):
    """This node's part in the voting on one chain: `runner.Runner`."""

    def report(self) -> ConsensusReport:
        """Return how the chain is being decided on."""


class ConsensusRecorder:
    """Writes the chains' reports, when they say something new.

    Decisions are written some time after they were made, several at once: no block waits for it. Those that
    the database did not take are written the next time, as far as they are remembered.

    Args:
        records: Where they are written to.
        run: Calls something blocking in a thread.
    """

    def __init__(self, records: Records, run: RunInThread) -> None:
        self._records = records
        self._run = run
        self._parts: list[Reporting] = []
        self._written: dict[str, ConsensusReport] = {}

    def watched(
        self, take_part: Callable[[AcceptedChain, Shared, Requests], Any] | None
    ) -> Callable[[AcceptedChain, Shared, Requests], Any] | None:
        """Return what makes a node's parts in the voting, and has them reported; None where nobody votes."""
        if take_part is None:
            return None

        def take(chain: AcceptedChain, shared: Shared, requests: Requests) -> Any:
            part = take_part(chain, shared, requests)
            self._parts.append(part)
            return part

        return take

    async def report(self) -> None:
        """Write what is new."""
        for part in self._parts:
            report = part.report()
            before = self._written.get(report.alias)
            if report == before:
                continue
            decided = report.decided_since(0 if before is None else before.totals.decisions)
            await self._run(self._records.consensus, report, decided)
            self._written[report.alias] = report  # only now: what failed is written the next time
