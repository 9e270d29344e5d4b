"""The ID of this node, if it has one already."""

from platform_app.chain import PlatformChain
from primitives.ids import NodeID


def own_node_id(chain: PlatformChain) -> NodeID | None:
    """Return this node's ID; None before its first start has created the certificate."""
    try:
        return chain.node_id
    except OSError:
        return None
