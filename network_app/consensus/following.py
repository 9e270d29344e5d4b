"""Compares the accepted blocks of the block producer with those accepted here by its votes.

The producer never rewinds, unless its database does: after a restored backup, or with another database.
The blocks it builds from then on do not follow the last block accepted here, so the chain would stop
without any message.
"""

from collections.abc import Mapping

from network_app.consensus.report import ProducerRewind
from network_app.snowman.topological import Topological
from primitives.ids import ID, NodeID


class ProducerHead:
    """Detects whether the producer has rewound blocks that it had accepted."""

    def __init__(self) -> None:
        self._found: tuple[ProducerRewind, ID] | None = None
        """The contradiction, and the last block accepted here when it was detected."""

    def look(
        self, frontiers: Mapping[NodeID, tuple[ID, int]], tree: Topological
    ) -> ProducerRewind | None:
        """Return the producer's block that contradicts the last block accepted here, or None.

        After a rewind the producer may reach a greater height again. That does not clear the
        contradiction, as long as none of its new blocks is accepted here.

        Args:
            frontiers: Last accepted blocks of the validators, with heights, as they last reported them.
            tree: The blocks accepted here.
        """
        last, height = tree.last_accepted, tree.last_height
        if self._found is not None and self._found[1] != last:
            self._found = None
        for producer, (accepted_id, accepted_height) in frontiers.items():
            if accepted_id == last:
                self._found = None
            elif accepted_height <= height:
                self._found = ProducerRewind(producer, accepted_id, accepted_height, height), last
        return None if self._found is None else self._found[0]
