"""What the network's process writes down for the other processes: `ports.Records`."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime

from chaindb.database import Database
from network_app.consensus.report import ConsensusReport, DecidedBlock
from network_app.ports import DialFailure, PeerInfo, SyncState, Totals
from network_app.selectors import Sync
from network_app.store import consensus, peers, sync
from primitives.ids import NodeID

DECISIONS = 10_000
"""Decisions that are kept where no setting says how many."""


class DatabaseRecords:
    """Writes to this node's database.

    Args:
        db: Which it is: those who write in the same process take turns with it.
        ip: host:port at which this node says that it is reached.
        decisions: So many decisions on blocks are kept.
    """

    def __init__(self, db: Database, ip: str, decisions: int = DECISIONS) -> None:
        self._db = db
        self._ip = ip
        self._decisions = decisions
        self._started = datetime.now(UTC)

    def begin(self) -> None:
        """Note that the network's process has begun: nobody is connected, nothing is reached yet."""
        with self._db.atomic(durable=True):
            peers.forget_connections()
            sync.begin_anew()
            consensus.begin_anew()

    def peers(
        self,
        connected: Sequence[PeerInfo],
        totals: Totals,
        benched: Mapping[NodeID, Collection[str]],
        known: int,
        failures: Sequence[DialFailure] = (),
    ) -> None:
        """Store who is connected now, which bootstrappers are not, and the counters."""
        with self._db.atomic(durable=True):
            now = datetime.now(UTC)
            peers.write_connected(connected, benched, now)
            peers.write_status(
                ip=self._ip,
                started=self._started,
                now=now,
                connected=len(connected),
                known=known,
                totals=totals,
                failures=failures,
            )

    def pardons(self, benched: Collection[NodeID]) -> list[NodeID]:
        """Return which of the benched peers an operator wishes to be asked again, each once."""
        # Asked each second while anybody is benched: nobody who writes is to wait for that.
        if not peers.has_pardons(benched):
            return []
        with self._db.atomic(durable=True):
            return peers.take_pardons(benched)

    def sync(self, alias: str, state: SyncState) -> None:
        """Store how far a chain is."""
        with self._db.atomic(durable=True):
            sync.write(alias, state, datetime.now(UTC))

    def consensus(self, report: ConsensusReport, decided: Sequence[DecidedBlock]) -> None:
        """Store how a chain is being decided on, and what was decided since the last time."""
        with self._db.atomic(durable=True):
            consensus.write(report, datetime.now(UTC))
            consensus.add(report.alias, decided, self._decisions)


def end(db: Database) -> None:
    """Note that the network's process ends: nobody is connected any more."""
    with db.atomic(durable=True):
        peers.forget_connections()


def prune(db: Database) -> int:
    """Forget nodes that are gone for good; return how many."""
    with db.atomic(durable=True):
        return peers.prune(datetime.now(UTC))


def measure(db: Database) -> list[Sync]:
    """Measure the rate of each chain that is not done; return their rows."""
    with db.atomic(durable=True):
        return sync.measure(datetime.now(UTC))
