"""Peers and the stake that they have."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from chaindb.database import Database
from network_app.models import Peer
from network_app.selectors.network import is_fresh, status
from platform_app.apps import platform_chain
from platform_app.selectors import stakers
from primitives.ids import PRIMARY_NETWORK_ID, NodeID

_ANY_CONNECTED: Final = "SELECT 1 FROM network_app_peer WHERE connected_since IS NOT NULL LIMIT 1"

REWARDING = 80
"""Percent of uptime that a peer must report for its stake to count as rewarding us."""


class Stake(NamedTuple):
    """Weights of validators of the Primary Network, in smallest units, delegators included."""

    connected: int
    """This node's own included, if it validates."""
    total: int

    @property
    def fraction(self) -> float:
        """The connected part, 1 when nobody validates."""
        return self.connected / self.total if self.total else 1.0


class Uptimes(NamedTuple):
    """What peers say of this node's uptime, in percent of the stake (pchain.md 8.5)."""

    rewarding_stake: float
    weighted_average: float


def peers(node_ids: Collection[NodeID] = ()) -> Sequence[Peer]:
    """Return connected peers, of these nodes or all; none when the network's process is gone."""
    reported = status()
    if reported is None or not is_fresh(reported):
        return []
    found = Peer.objects.filter(connected_since__isnull=False).order_by("connected_since")
    return list(found.filter(node_id__in=list(node_ids)) if node_ids else found)


def has_peers() -> bool:
    """Say whether any peer is connected; in one statement where none is."""
    found = Database().row(_ANY_CONNECTED)
    return found is not None and bool(connected_ids())


def connected_ids() -> frozenset[NodeID]:
    """Return the node IDs of connected peers."""
    return frozenset(peer.node_id for peer in peers())


def heard_ids(seconds: float) -> frozenset[NodeID]:
    """Return the connected peers of whom something came within so many seconds."""
    since = datetime.now(UTC) - timedelta(seconds=seconds)
    found = Peer.objects.filter(connected_since__isnull=False, last_received__gte=since)
    return frozenset(peer.node_id for peer in found.only("node_id"))


def connected_stake(connected: Sequence[Peer] | None = None) -> Stake:
    """Return how much of the Primary Network's stake this node is connected to, itself included.

    Args:
        connected: What `peers` returned; None: it is asked.
    """
    present = stakers.current_validators(platform_chain(), PRIMARY_NETWORK_ID)
    found = peers() if connected is None else connected
    here = {*(peer.node_id for peer in found), platform_chain().node_id}
    weights = {one.node_id: one.weight + one.delegator_weight for one in present.validators}
    weight_here = sum(weight for node_id, weight in weights.items() if node_id in here)
    return Stake(weight_here, sum(weights.values()))


def uptime_of_self(connected: Sequence[Peer] | None = None) -> Uptimes | None:
    """Return what peers say of this node's uptime; None when it is no validator.

    Own stake counts with 100 %, that of validators who are not connected with none.

    Args:
        connected: What `peers` returned; None: it is asked.
    """
    present = stakers.current_validators(platform_chain(), PRIMARY_NETWORK_ID)
    weights = {one.node_id: one.weight + one.delegator_weight for one in present.validators}
    own = weights.get(platform_chain().node_id)
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
