"""Queries about the network for info, health, metrics and the admin, answered from rows."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from django.conf import settings

from cchain_app.syncing import SyncProgress
from chaindb.chains import is_left_out
from chaindb.database import Database
from network_app.models import (
    BlockDecision,
    ChainConsensus,
    ChainSync,
    NetworkStatus,
    Peer,
    SyncPhase,
)
from network_app.ports import DialFailure
from network_app.store import outer
from primitives.ids import PRIMARY_NETWORK_ID, NodeID

if TYPE_CHECKING:  # the modules of voting are loaded where validators vote, the P-Chain's with questions about stake
    from network_app.consensus.report import ConsensusReport
    from platform_app.chain import PlatformChain
    from platform_app.memory.stakers import CurrentSet

HEARTBEAT_TOLERANCE = 15.0
"""Seconds without a report after which the network process counts as stopped."""

Status = NetworkStatus


def status() -> Status | None:
    """Return the last report of the network process, or None if it has never run."""
    return NetworkStatus.objects.first()


def is_fresh(reported: Status, tolerance: float = HEARTBEAT_TOLERANCE) -> bool:
    """Return whether a report is recent enough to be trusted: not older than `tolerance` seconds."""
    age = datetime.now(UTC) - reported.heartbeat_at
    return age.total_seconds() <= tolerance


def dial_failures(reported: Status | None) -> Sequence[DialFailure]:
    """Return why bootstrappers are not connected, from `status`; nothing if that report is old or missing."""
    if reported is None or not is_fresh(reported):
        return []
    return [DialFailure(**failure) for failure in reported.dial_failures]


def follows() -> bool:
    """Return whether this node has a network to sync with; without NODE_BOOTSTRAP it has none."""
    return bool(settings.NODE.common.bootstrap)


def in_network(chain: "PlatformChain") -> bool:
    """Return whether the node of a P-Chain belongs to a network with others, so that it should have peers.

    Unspecified: a node without NODE_BOOTSTRAP to which no other validator has ever connected is a network of
    its own, and healthy without peers, even if other nodes connected before. The reference has a flag for
    that (sybil protection off).
    """
    if settings.NODE.common.bootstrap:
        return True
    validators = _validators(chain).by_node.keys()
    others = [node_id for node_id in validators if node_id != chain.node_id]
    return bool(others) and Peer.objects.filter(node_id__in=others).exists()


Decision = BlockDecision


def consensus() -> "Mapping[str, ConsensusReport]":
    """Return the last report on each chain, by name, whatever its age; empty without voting."""
    from network_app.consensus.messages import from_json  # as above

    return {row.chain: from_json(row.report) for row in ChainConsensus.objects.all()}


def consensus_now(alias: str) -> "ConsensusReport | None":
    """Return the state of a chain's consensus; None without voting, or without a recent report."""
    reported = status()
    if reported is None or not is_fresh(reported):
        return None
    from network_app.consensus.messages import from_json  # as above

    row = ChainConsensus.objects.filter(chain=alias).first()
    return None if row is None else from_json(row.report)


def decisions(alias: str, count: int) -> Sequence[Decision]:
    """Return the latest decisions on a chain's blocks, newest first."""
    return list(BlockDecision.objects.filter(chain=alias).order_by("-id")[:count])


_ANY_CONNECTED: Final = "SELECT 1 FROM network_app_peer WHERE connected_since IS NOT NULL LIMIT 1"

REWARDING = 80
"""Percent of uptime that a peer must report for its stake to count as rewarding this node."""


class ConnectedStake(NamedTuple):
    """Weights of validators of the Primary Network, in smallest units, delegators included."""

    connected: int
    """Includes this node's own weight, if it validates."""
    total: int

    @property
    def fraction(self) -> float:
        """The connected fraction, 1 if there are no validators."""
        return self.connected / self.total if self.total else 1.0


class Uptimes(NamedTuple):
    """This node's uptime as reported by peers, in percent of the stake (pchain.md 8.5)."""

    rewarding_stake: float
    weighted_average: float


def peers(node_ids: Collection[NodeID] = ()) -> Sequence[Peer]:
    """Return connected peers, all or those given; empty if the network process has stopped."""
    reported = status()
    if reported is None or not is_fresh(reported):
        return []
    found = Peer.objects.filter(connected_since__isnull=False).order_by("connected_since")
    return list(found.filter(node_id__in=list(node_ids)) if node_ids else found)


def has_peers() -> bool:
    """Return whether any peer is connected; needs one statement if there is no peer."""
    found = Database().row(_ANY_CONNECTED)
    return found is not None and bool(connected_ids())


def connected_ids() -> frozenset[NodeID]:
    """Return the node IDs of connected peers."""
    return frozenset(peer.node_id for peer in peers())


def connected_stake(
    chain: "PlatformChain", connected: Sequence[Peer] | None = None
) -> ConnectedStake:
    """Return how much of the Primary Network's stake this node is connected to, including its own.

    Args:
        chain: The node's P-Chain.
        connected: The result of `peers`; None to query it.
    """
    present = _validators(chain)
    found = peers() if connected is None else connected
    here = {*(peer.node_id for peer in found), chain.node_id}
    weights = {
        validator.node_id: validator.weight + validator.delegator_weight
        for validator in present.validators
    }
    weight_here = sum(weight for node_id, weight in weights.items() if node_id in here)
    return ConnectedStake(weight_here, sum(weights.values()))


def uptime_of_self(
    chain: "PlatformChain", connected: Sequence[Peer] | None = None
) -> Uptimes | None:
    """Return this node's uptime as reported by peers; None if it is not a validator.

    This node's own stake counts with 100 %, that of validators that are not connected with 0 %.

    Args:
        chain: The node's P-Chain.
        connected: The result of `peers`; None to query it.
    """
    present = _validators(chain)
    weights = {
        validator.node_id: validator.weight + validator.delegator_weight
        for validator in present.validators
    }
    own = weights.get(chain.node_id)
    if own is None:
        return None
    total = sum(weights.values())
    said = [
        (weights.get(peer.node_id, 0), peer.observed_uptime)
        for peer in (peers() if connected is None else connected)
    ]
    rewarding = own + sum(weight for weight, percent in said if percent >= REWARDING)
    average = 100 * own + sum(weight * percent for weight, percent in said)
    return Uptimes(100 * rewarding / total, average / total)


Sync = ChainSync


def syncs() -> Mapping[str, Sync]:
    """Return the chains' rows by name; empty if the network has never run."""
    return {row.chain: row for row in ChainSync.objects.all()}


def sync_of(chain: str) -> Sync | None:
    """Return a chain's row; None if the network has never run it. A node may have many chains, so only one is read."""
    return ChainSync.objects.filter(chain=chain).first()


def waiting() -> str:
    """Return the reasons why chains have not started, or cannot continue.

    The text is empty if they do not wait, or if the network process does not report.
    """
    reported = status()
    if reported is None or not is_fresh(reported):
        return ""
    rows = syncs().values()
    reasons: list[object] = [row.obstacle or row.waiting for row in rows]
    if any(row.waiting is not None for row in rows):
        reasons += dial_failures(reported)
    return ", ".join(dict.fromkeys(str(reason) for reason in reasons if reason is not None))


def is_bootstrapped(alias: str) -> bool:
    """Return whether a chain has reached the frontier since this node's start.

    A node that follows no network has nothing to reach. For other nodes, rows count only while the network's
    process reports, and only if they are from its current run, because the network may have built blocks since an
    earlier run. Needs at most two statements.

    Unspecified: a chain stuck before a block that the network has accepted and this node rejects is not bootstrapped
    until it continues; the reference reports that in its health checks only. A chain that this node does not run is
    never bootstrapped, as in the reference.
    """
    node = settings.NODE
    if is_left_out(alias):
        return False
    if not (node.common.bootstrap or node.common.votes):
        return True
    row = sync_of(alias)
    if row is not None and row.obstacle is not None:
        return False
    if not node.common.bootstrap:
        return True
    if row is None or row.phase != SyncPhase.BOOTSTRAPPED:
        return False
    reported = status()
    return reported is not None and is_fresh(reported) and row.started_at >= reported.started_at


def progress(chain: str) -> SyncProgress | None:
    """Return a chain's progress towards its network's frontier; None once it is bootstrapped."""
    row = sync_of(chain)
    if row is None or is_bootstrapped(chain):
        return None
    return SyncProgress(row.start_height, row.height, row.target_height)


def block_proposer(db: Database, alias: str, height: int) -> NodeID | None:
    """Return the signer of the block of a chain at a height; None if unsigned or never wrapped."""
    for item in outer.between(db, alias, height, height):
        return item.proposer
    return None


def _validators(chain: "PlatformChain") -> "CurrentSet":
    """Return the current validators of the Primary Network."""
    from platform_app.selectors import stakers

    return stakers.current_validators(chain, PRIMARY_NETWORK_ID)
