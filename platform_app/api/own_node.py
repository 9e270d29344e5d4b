"""Which node answers: its ID, where it has one already."""

from platform_app.chain import PlatformChain
from primitives.ids import NodeID


def own_node_id(chain: PlatformChain) -> NodeID | None:
    """Return this node's ID; None before its first start has made the certificate."""
    try:
        return chain.node_id
    except OSError:
        return None
