"""Read-only admin pages of the network's rows, one module for each subject.

`adminkit.formats` formats values as text, `display` as HTML and with links to other pages.
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
