"""Which node answers: its ID, where it has one already."""

from platform_app.apps import platform_chain
from primitives.ids import NodeID


def own_node_id() -> NodeID | None:
    """Return this node's ID; None before its first start has made the certificate."""
    try:
        return platform_chain().node_id
    except OSError:
        return None
