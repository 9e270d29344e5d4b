"""Peers and their stake."""

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
    """Return connected peers, all or those given; empty if the network's process has stopped."""
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


def heard_ids(seconds: float) -> frozenset[NodeID]:
    """Return the connected peers that sent something within the last `seconds`."""
    since = datetime.now(UTC) - timedelta(seconds=seconds)
    found = Peer.objects.filter(connected_since__isnull=False, last_received__gte=since)
    return frozenset(peer.node_id for peer in found.only("node_id"))


def connected_stake(connected: Sequence[Peer] | None = None) -> ConnectedStake:
    """Return how much of the Primary Network's stake this node is connected to, including its own.

    Args:
        connected: The result of `peers`; None to query it.
    """
    present = stakers.current_validators(platform_chain(), PRIMARY_NETWORK_ID)
    found = peers() if connected is None else connected
    here = {*(peer.node_id for peer in found), platform_chain().node_id}
    weights = {
        validator.node_id: validator.weight + validator.delegator_weight
        for validator in present.validators
    }
    weight_here = sum(weight for node_id, weight in weights.items() if node_id in here)
    return ConnectedStake(weight_here, sum(weights.values()))


def uptime_of_self(connected: Sequence[Peer] | None = None) -> Uptimes | None:
    """Return this node's uptime as reported by peers; None if it is not a validator.

    This node's own stake counts with 100 %, that of validators that are not connected with 0 %.

    Args:
        connected: The result of `peers`; None to query it.
    """
    present = stakers.current_validators(platform_chain(), PRIMARY_NETWORK_ID)
    weights = {
        validator.node_id: validator.weight + validator.delegator_weight
        for validator in present.validators
    }
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
