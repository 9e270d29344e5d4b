"""Queries about the network for info, health, metrics and the admin, answered from rows."""

from network_app.selectors.consensus import Decision, consensus, consensus_now, decisions
from network_app.selectors.network import (
    HEARTBEAT_TOLERANCE,
    Status,
    dial_failures,
    follows,
    in_network,
    is_fresh,
    status,
)
from network_app.selectors.peers import (
    Uptimes,
    connected_ids,
    connected_stake,
    has_peers,
    heard_ids,
    peers,
    uptime_of_self,
)
from network_app.selectors.sync import Sync, is_bootstrapped, syncs, waiting

__all__ = [
    "HEARTBEAT_TOLERANCE",
    "Decision",
    "Status",
    "Sync",
    "Uptimes",
    "connected_ids",
    "connected_stake",
    "consensus",
    "consensus_now",
    "decisions",
    "dial_failures",
    "follows",
    "has_peers",
    "heard_ids",
    "in_network",
    "is_bootstrapped",
    "is_fresh",
    "peers",
    "status",
    "syncs",
    "uptime_of_self",
    "waiting",
]
