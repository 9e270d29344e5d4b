"""What the one node that makes all blocks has accepted, beside what was accepted here by its votes.

It never goes back, unless its rows do: after a backup was restored, or another database was given to it. What it
makes from then on does not follow the last block here, so the chain stands, and would without a word.
"""

from collections.abc import Mapping

from network_app.consensus.report import Contradiction
from network_app.snowman.topological import Topological
from primitives.ids import ID, NodeID


class FollowedHead:
    """Looks whether the producer has taken back what it had accepted."""

    def __init__(self) -> None:
        self._found: tuple[Contradiction, ID] | None = None
        """And what had been accepted here last."""

    def look(
        self, frontiers: Mapping[NodeID, tuple[ID, int]], tree: Topological
    ) -> Contradiction | None:
        """Return what the producer has accepted instead of this node's last accepted block; None: nothing.

        Once it has taken blocks back it may be higher again: that tells nothing, as long as no block of it is
        accepted here.

        Args:
            frontiers: What validators said last that they have accepted, with the heights.
            tree: What was accepted here.
        """
        last, height = tree.last_accepted, tree.last_height
        if self._found is not None and self._found[1] != last:
            self._found = None
        for producer, (accepted_id, accepted_height) in frontiers.items():
            if accepted_id == last:
                self._found = None
            elif accepted_height <= height:
                self._found = Contradiction(producer, accepted_id, accepted_height, height), last
        return None if self._found is None else self._found[0]
