"""Read-only windows on the network's rows, one module for each subject; `dashboard` sums them up.

How values look is in `formats` (text) and `display` (HTML), where pages are in `links`.
"""

from network_app.admin.blocks import OuterBlockAdmin
from network_app.admin.bootstrap import ChainSyncAdmin
from network_app.admin.consensus import BlockDecisionAdmin, ChainConsensusAdmin
from network_app.admin.peers import PeerAdmin
from network_app.admin.status import NetworkStatusAdmin

__all__ = [
    "BlockDecisionAdmin",
    "ChainConsensusAdmin",
    "ChainSyncAdmin",
    "NetworkStatusAdmin",
    "OuterBlockAdmin",
    "PeerAdmin",
]
