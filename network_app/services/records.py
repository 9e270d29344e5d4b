"""What the network's process writes down for the other processes: `ports.Records`."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime

from django.db import transaction

from network_app.consensus.report import ConsensusReport, DecidedBlock
from network_app.ports import PeerInfo, SyncState, Totals
from network_app.selectors import Sync
from network_app.store import consensus, peers, sync
from primitives.ids import NodeID

DECISIONS = 10_000
"""Decisions that are kept where no setting says how many."""


class DatabaseRecords:
    """Writes to this node's database.

    Args:
        ip: host:port at which this node says that it is reached.
        decisions: So many decisions on blocks are kept.
    """

    def __init__(self, ip: str, decisions: int = DECISIONS) -> None:
        self._ip = ip
        self._decisions = decisions
        self._started = datetime.now(UTC)

    @transaction.atomic(durable=True)
    def begin(self) -> None:
        """Note that the network's process has begun: nobody is connected, nothing is reached yet."""
        peers.forget_connections()
        sync.begin_anew()
        consensus.begin_anew()

    @transaction.atomic(durable=True)
    def peers(
        self,
        connected: Sequence[PeerInfo],
        totals: Totals,
        benched: Mapping[NodeID, Collection[str]],
        known: int,
    ) -> None:
        """Store who is connected now, and the counters."""
        now = datetime.now(UTC)
        peers.write_connected(connected, benched, now)
        peers.write_status(
            ip=self._ip,
            started=self._started,
            now=now,
            connected=len(connected),
            known=known,
            totals=totals,
        )

    def pardons(self, benched: Collection[NodeID]) -> list[NodeID]:
        """Return which of the benched peers an operator wishes to be asked again, each once."""
        # Asked each second while anybody is benched: nobody who writes is to wait for that.
        if not peers.has_pardons(benched):
            return []
        with transaction.atomic(durable=True):
            return peers.take_pardons(benched)

    @transaction.atomic(durable=True)
    def sync(self, alias: str, state: SyncState) -> None:
        """Store how far a chain is."""
        sync.write(alias, state, datetime.now(UTC))

    @transaction.atomic(durable=True)
    def consensus(self, report: ConsensusReport, decided: Sequence[DecidedBlock]) -> None:
        """Store how a chain is being decided on, and what was decided since the last time."""
        consensus.write(report, datetime.now(UTC))
        consensus.add(report.alias, decided, self._decisions)


@transaction.atomic(durable=True)
def end() -> None:
    """Note that the network's process ends: nobody is connected any more."""
    peers.forget_connections()


@transaction.atomic(durable=True)
def prune() -> int:
    """Forget nodes that are gone for good; return how many."""
    return peers.prune(datetime.now(UTC))


@transaction.atomic(durable=True)
def measure() -> list[Sync]:
    """Measure the rate of each chain that is not done; return their rows."""
    return sync.measure(datetime.now(UTC))
