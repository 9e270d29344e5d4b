"""Use cases of the network: one function, one transaction.

The clock of a local network follows the time of the blocks (design 8). The network process stores its reports for
the other processes (`ports.Records`). The bench of peers is in the memory of that process, so an operator's pardon of
a benched peer is passed to it as a row.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum

from django.conf import settings

from chaindb import clock
from chaindb.database import Database
from network_app import selectors
from network_app.consensus.report import ConsensusReport, DecidedBlock
from network_app.ports import DialFailure, NetworkTotals, PeerInfo, SyncState
from network_app.selectors import Sync
from network_app.store import consensus, peers, sync
from primitives.ids import NodeID
from primitives.networks import MAINNET, TESTNET
from primitives.reasons import ErrorWithReason

_log = logging.getLogger(__name__)


def clock_follows_blocks() -> bool:
    """Return whether this node's clock follows the time of the blocks.

    Unspecified: staking time travel affects a whole network. The block producer moves its clock, and its
    followers learn that from the blocks. There is no time travel on public networks or if the validators vote.
    """
    return (
        settings.NODE.common.network_id not in {MAINNET, TESTNET} and not settings.NODE.common.votes
    )


def move_clock(time: int) -> None:
    """Move the clock forward to an accepted block's time, if it is behind.

    Call this in the transaction in which the block is accepted.
    """
    behind = clock.reach(time)
    if behind:
        _log.info("the clock follows the producer's: %d s forward", behind)


class PardonReason(StrEnum):
    """A reason why a pardon has no effect."""

    # The peer is not benched, or is not connected.
    NOT_BENCHED = "{node_id} is not benched"
    # The network process does not report; if it has ended, its bench is lost.
    NO_REPORT = "the network process has not reported, and only its memory has the benched peers"


class PardonRefused(ErrorWithReason):
    """A pardon without effect; the message gives the reason."""


def pardon(db: Database, node_id: NodeID) -> None:
    """Request that a peer gets queries again on all chains; the network process executes it at its next report.

    If the peer is gone by then, the request is dropped.

    Raises:
        PardonRefused: The network process does not report, or its last report says that the peer is not benched or
            not connected.
    """
    reported = selectors.status()
    if reported is None or not selectors.is_fresh(reported):
        raise PardonRefused(PardonReason.NO_REPORT)
    with db.atomic(durable=True):
        if not peers.pardon(node_id):
            raise PardonRefused(PardonReason.NOT_BENCHED, node_id=node_id)


DECISIONS = 10_000
"""Number of decisions to keep if no setting specifies it."""


class DatabaseRecords:
    """Writes to this node's database.

    Args:
        db: The database, whose writers in the same process take turns.
        ip: host:port that this node advertises.
        decisions: Number of decisions on blocks to keep.
    """

    def __init__(self, db: Database, ip: str, decisions: int = DECISIONS) -> None:
        self._db = db
        self._ip = ip
        self._decisions = decisions
        self._started = datetime.now(UTC)

    def begin(self) -> None:
        """Record the start of the network process: no peer is connected, and no chain is synced."""
        with self._db.atomic(durable=True):
            peers.forget_connections()
            sync.clear()
            consensus.clear()

    def peers(
        self,
        connected: Sequence[PeerInfo],
        totals: NetworkTotals,
        benched: Mapping[NodeID, Collection[str]],
        known: int,
        failures: Sequence[DialFailure] = (),
    ) -> None:
        """Store the connected peers, the bootstrappers that are not connected, and the counters."""
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
        """Return the benched peers that an operator has pardoned, each once."""
        # Called each second while any peer is benched, so it must not make writers wait.
        if not peers.has_pardons(benched):
            return []
        with self._db.atomic(durable=True):
            return peers.take_pardons(benched)

    def sync(self, alias: str, state: SyncState) -> None:
        """Store a chain's progress."""
        with self._db.atomic(durable=True):
            sync.write(alias, state, datetime.now(UTC))

    def consensus(self, report: ConsensusReport, decided: Sequence[DecidedBlock]) -> None:
        """Store the state of a chain's consensus, and the decisions since the last call."""
        with self._db.atomic(durable=True):
            consensus.write(report, datetime.now(UTC))
            consensus.add(report.alias, decided, self._decisions)


def end(db: Database) -> None:
    """Record the end of the network process: no peer is connected any more."""
    with db.atomic(durable=True):
        peers.forget_connections()


def prune(db: Database) -> int:
    """Delete nodes that have been gone for long; return their number."""
    with db.atomic(durable=True):
        return peers.prune(datetime.now(UTC))


def measure(db: Database) -> list[Sync]:
    """Measure the rate of each chain that is not done; return the rows of these chains."""
    with db.atomic(durable=True):
        return sync.measure(datetime.now(UTC))
