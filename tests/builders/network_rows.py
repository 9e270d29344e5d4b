"""Rows that the network process writes: its report, its peers, and the sync state of chains."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import time_machine

from network_app.models import ChainSync, NetworkStatus, Peer, SyncPhase
from primitives.ids import NodeID


def ago(seconds: float) -> datetime:
    """Return a time in the past."""
    return datetime.now(UTC) - timedelta(seconds=seconds)


@contextmanager
def still() -> Iterator[None]:
    """Stop the wall clock, so that ages do not depend on the duration of the test."""
    with time_machine.travel(datetime.now(UTC), tick=False):
        yield


def report(**changes: Any) -> NetworkStatus:
    """Write the report of a healthy network process, with the changes."""
    fields: dict[str, Any] = {
        "started_at": ago(600),
        "heartbeat_at": ago(0),
        "ip": "203.0.113.7:9651",
        "connected": 0,
        "known": 0,
        "messages_sent": 0,
        "messages_received": 0,
        "bytes_sent": 0,
        "bytes_received": 0,
        "send_failures": 0,
        "send_fail_rate": 0.0,
        "last_sent_at": ago(1),
        "last_received_at": ago(2),
        "times_connected": 0,
        "times_disconnected": 0,
    }
    row, _ = NetworkStatus.objects.update_or_create(id=1, defaults=fields | changes)
    return row


def peer(node_id: NodeID, **changes: Any) -> Peer:
    """Write a connected peer, with the changes."""
    fields: dict[str, Any] = {
        "ip": "198.51.100.4:50123",
        "public_ip": "198.51.100.4:9651",
        "version": "avalanchego/1.14.2",
        "upgrade_time": 1_607_144_400,
        "outbound": False,
        "connected_since": ago(60),
        "first_seen": ago(60),
        "last_seen": ago(0),
        "last_sent": ago(1),
        "last_received": ago(2),
        "observed_uptime": 100,
    }
    fields["node"] = str(node_id)
    row, _ = Peer.objects.update_or_create(node_id=node_id, defaults=fields | changes)
    return row


def sync(chain: str, **changes: Any) -> ChainSync:
    """Write that a chain has reached the frontier, with the changes."""
    fields: dict[str, Any] = {
        "phase": SyncPhase.BOOTSTRAPPED,
        "start_height": 0,
        "height": 10,
        "target_height": 10,
        "fetched": 0,
        "outstanding": 0,
        "oldest_outstanding_at": None,
        "started_at": ago(60),
        "finished_at": ago(30),
        "updated_at": ago(0),
        "measured_height": 10,
        "measured_at": ago(0),
        "blocks_per_second": None,
        "seconds_left": None,
    }
    row, _ = ChainSync.objects.update_or_create(chain=chain, defaults=fields | changes)
    return row
