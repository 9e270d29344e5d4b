"""A simulated restart of this process: a new `Node`, which knows only the rows and files."""

from nodeproject.apps import this_node, use
from nodeproject.node import Node
from nodeproject.settings.node import NodeSettings


def restart_node(settings: NodeSettings | None = None) -> None:
    """Replace the node with a new one, with the same or other settings; process counters continue."""
    before = this_node()
    use(Node(settings or before.settings, before.processes))
