"""The validators to which this node connects, and which of them a peer may know (p2p.md 5.1)."""

from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from network_app.ports import Directory
from primitives.ids import ID, NodeID


class Asker(NamedTuple):
    """A peer that gets addresses."""

    node_id: NodeID
    tracked_subnets: Collection[ID] = ()
    """The subnets that its handshake names."""
    all_subnets: bool = False
    """Whether it asks for the validators of every subnet."""


class NetworkMembers:
    """The validators of the Primary Network, and of the subnets that this node joins.

    Those of an L1 need not validate the Primary Network. This node dials them, and passes their addresses on to nodes
    that track the subnet.

    Args:
        directory: The validators of both.
        joined: Returns those subnets. It is called for each message, so it must be quick.
    """

    def __init__(self, directory: Directory, joined: Callable[[], Collection[ID]] = tuple) -> None:
        self._directory = directory
        self.joined = joined

    def __contains__(self, node_id: object) -> bool:
        validators = self._directory.validators
        return node_id in validators() or any(
            node_id in validators(subnet_id) for subnet_id in self.joined()
        )

    def __iter__(self) -> Iterator[NodeID]:
        found = dict.fromkeys(self._directory.validators())
        for subnet_id in self.joined():
            found |= dict.fromkeys(self._directory.validators(subnet_id))
        return iter(found)

    def is_primary(self, node_id: NodeID) -> bool:
        """Return whether a node validates the Primary Network."""
        return node_id in self._directory.validators()

    def is_shown(self, node_id: NodeID, asker: Asker) -> bool:
        """Return whether a node is one whose address a peer gets.

        Those are the validators of the Primary Network and of the subnets that both track. A validator of the Primary
        Network may ask for those of all subnets.
        """
        if self.is_primary(node_id):
            return True
        gets_all = asker.all_subnets and self.is_primary(asker.node_id)
        return any(
            node_id in self._directory.validators(subnet_id)
            for subnet_id in self.joined()
            if gets_all or subnet_id in asker.tracked_subnets
        )
