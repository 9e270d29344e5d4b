"""Rows of the network: peers, what the network's process reports, how far chains are, blocks, decisions."""

from network_app.models.blocks import Certificate, FetchedBlock, OuterBlock, outer_id
from network_app.models.consensus import BlockDecision, ChainConsensus
from network_app.models.peers import NetworkStatus, Peer
from network_app.models.sync import ChainSync, SyncPhase

__all__ = [
    "BlockDecision",
    "Certificate",
    "ChainConsensus",
    "ChainSync",
    "FetchedBlock",
    "NetworkStatus",
    "OuterBlock",
    "Peer",
    "SyncPhase",
    "outer_id",
]
