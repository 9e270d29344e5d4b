"""The network's process: its last report, and the time of it."""

from collections.abc import Sequence
from datetime import UTC, datetime

from django.conf import settings

from network_app.models import NetworkStatus, Peer
from network_app.ports import DialFailure
from platform_app.apps import platform_chain
from platform_app.selectors import stakers
from primitives.ids import PRIMARY_NETWORK_ID

HEARTBEAT_TOLERANCE = 15.0
"""Seconds without a report after which the network's process counts as stopped."""

Status = NetworkStatus


def status() -> Status | None:
    """Return the last report of the network's process, or None if it has never run."""
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


def in_network() -> bool:
    """Return whether this node belongs to a network with others, so that it should have peers.

    Unspecified: a node without NODE_BOOTSTRAP to which no other validator has ever connected is a network of
    its own, and healthy without peers, even if other nodes connected before. The reference has a flag for
    that (sybil protection off).
    """
    if settings.NODE.common.bootstrap:
        return True
    validators = stakers.current_validators(platform_chain(), PRIMARY_NETWORK_ID).by_node.keys()
    others = [node_id for node_id in validators if node_id != platform_chain().node_id]
    return bool(others) and Peer.objects.filter(node_id__in=others).exists()
