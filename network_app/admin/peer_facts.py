"""What pages about peers show besides their rows, read for a whole page at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from chaindb import clock
from network_app import selectors
from network_app.models import Peer
from platform_app.apps import platform_chain
from platform_app.chain import NoGenesis
from platform_app.selectors import stakers
from primitives.ids import NodeID


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of one peer; None where the question does not arise."""

    now: datetime
    reported: bool
    """Whether the network's process lives: else nobody knows who is connected."""
    stake: int | None = None
    """Of a current validator, its delegators' included, in smallest units."""
    uptime: float | None = None
    """The part of its time that a current validator was online, as this node saw it."""
    validating: bool = False
    """Whether this node is a current validator: else nobody has seen an uptime of it."""


def read(found: Sequence[Peer]) -> list[Facts]:
    """Return the facts about peers, in their order, in at most four statements."""
    if not found:
        return []
    status, now = selectors.status(), datetime.now(UTC)
    reported = status is not None and selectors.is_fresh(status)
    stakes = _stakes()
    uptimes = _uptimes([peer.node_id for peer in found if peer.node_id in stakes])
    validating = _is_ours(stakes)
    return [
        Facts(now, reported, stakes.get(peer.node_id), uptimes.get(peer.node_id), validating)
        for peer in found
    ]


def _is_ours(stakes: Mapping[NodeID, int]) -> bool:
    try:
        return platform_chain().node_id in stakes
    except OSError:  # before the first start has made the certificate
        return False


def _stakes() -> dict[NodeID, int]:
    try:
        current = stakers.current_validators(platform_chain())
    except NoGenesis:
        return {}
    return {one.node_id: one.weight + one.delegator_weight for one in current.validators}


def _uptimes(nodes: Sequence[NodeID]) -> dict[NodeID, float]:
    if not nodes:
        return {}
    now, tracking = clock.now(), stakers.tracking(platform_chain())
    return {
        node_id: seen.fraction(now, tracking=tracking)
        for node_id, seen in stakers.uptimes(platform_chain(), nodes).items()
    }
