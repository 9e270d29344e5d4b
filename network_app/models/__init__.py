"""Tables of the network: peers, reports of the network's process, sync progress, blocks, decisions."""

from network_app.models.blocks import Certificate, FetchedBlock, OuterBlock
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
]
