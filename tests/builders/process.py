"""This process as one that has just begun: its node is made anew, and knows nothing but rows and files."""

from nodeproject.apps import this_node, use
from nodeproject.node import Node
from nodeproject.settings.node import NodeSettings


def begin_anew(settings: NodeSettings | None = None) -> None:
    """Be a node that has just begun, with other settings or the same; what is counted goes on."""
    before = this_node()
    use(Node(settings or before.settings, before.processes))
