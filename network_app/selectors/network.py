"""The network's process: when it reported last, and what."""

from collections.abc import Sequence
from datetime import UTC, datetime

from django.conf import settings

from network_app.models import NetworkStatus, Peer
from network_app.ports import DialFailure
from platform_app.apps import platform_chain
from platform_app.selectors import stakers
from primitives.ids import PRIMARY_NETWORK_ID

HEARTBEAT_TOLERANCE = 15.0
"""Seconds without a report after which the network's process counts as gone."""

Status = NetworkStatus


def status() -> Status | None:
    """Return what the network's process reported last, or None when it never ran."""
    return NetworkStatus.objects.first()


def is_fresh(reported: Status, tolerance: float = HEARTBEAT_TOLERANCE) -> bool:
    """Say whether a report is recent enough to be believed: no older than so many seconds."""
    age = datetime.now(UTC) - reported.heartbeat_at
    return age.total_seconds() <= tolerance


def dial_failures(reported: Status | None) -> Sequence[DialFailure]:
    """Return why bootstrappers are not connected, as `status` has it; nothing if that report is old or missing."""
    if reported is None or not is_fresh(reported):
        return []
    return [DialFailure(**failure) for failure in reported.dial_failures]


def follows() -> bool:
    """Say whether this node has others to reach: without NODE_BOOTSTRAP there is no way to go."""
    return bool(settings.NODE.bootstrap)


def in_network() -> bool:
    """Say whether this node belongs together with others, so that none is a reason for concern.

    Unspecified: a node without NODE_BOOTSTRAP that no other validator ever connected to is a network of
    its own, and healthy without peers, whoever else came and went. The reference has a flag for that
    (sybil protection off).
    """
    if settings.NODE.bootstrap:
        return True
    validators = stakers.current_validators(platform_chain(), PRIMARY_NETWORK_ID).by_node.keys()
    others = [node_id for node_id in validators if node_id != platform_chain().node_id]
    return bool(others) and Peer.objects.filter(node_id__in=others).exists()
