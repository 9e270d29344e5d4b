"""The bootstrappers: which of them are connected, and how many have to be, or to agree (p2p.md 9). Pure."""

from collections.abc import Collection, Sequence
from typing import NamedTuple, Self

from network_app.ports import Gathering
from primitives.ids import NodeID


def needed_of(configured: int) -> int:
    """Return how many of so many bootstrappers have to be connected: three quarters."""
    return (3 * configured + 3) // 4


class Beacons(NamedTuple):
    """The bootstrappers, which weigh the same."""

    connected: frozenset[NodeID]
    configured: int
    """How many there are; 0: nothing to bootstrap from."""

    @classmethod
    def of(
        cls, addresses: int, found: Sequence[NodeID], connected: Collection[NodeID], own: NodeID
    ) -> Self:
        """Count the nodes behind so many addresses; at some of them it is known who was found.

        Each node counts once, by however many addresses it is named, and this one not at all. An
        address at which nobody was met yet counts for a node.
        """
        others = frozenset(found) - {own}
        return cls(others.intersection(connected), addresses - len(found) + len(others))

    @property
    def lacking(self) -> Gathering | None:
        """What keeps bootstrapping from beginning; None when three quarters are connected."""
        needed = needed_of(self.configured)
        if len(self.connected) >= needed:
            return None
        return Gathering(len(self.connected), needed, self.configured)

    @property
    def majority(self) -> int:
        """How many have to agree."""
        return self.configured // 2 + 1
