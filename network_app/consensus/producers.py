"""Detects block producers that went back on their blocks: two blocks signed for one slot, or a database that was rewound."""

import logging
from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

from chainvm.port import Block
from network_app.consensus.report import Equivocation, ProducerRewind
from network_app.proposervm.ports import Proposal
from network_app.snowman.topological import Topological
from primitives.bounded_cache import BoundedCache
from primitives.ids import ID, NodeID
from primitives.networks import title


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


SLOTS = 1024
"""Number of slots whose blocks are remembered."""
BLOCKS = 8
"""Number of blocks remembered per slot."""
SHOWN = 16
"""Number of recent equivocations that are reported individually."""

_log = logging.getLogger(__name__)


class _Slot(NamedTuple):
    parent_id: ID
    slot: int
    proposer: NodeID


class Equivocations:
    """Counts and lists equivocations. Voting treats the blocks like any other conflicting blocks.

    Slots are counted from the timestamp of the parent block, so two blocks share a slot only if they have
    the same parent. A proposer whose preference changes to another parent may propose again.

    Unspecified: the reference does not detect equivocations. A node that was killed may equivocate without
    malice, because it no longer knows which blocks it has signed.

    Args:
        alias: Alias of the chain, for the log.
    """

    def __init__(self, alias: str) -> None:
        self._alias = alias
        self._seen: BoundedCache[_Slot, list[ID]] = BoundedCache(SLOTS)
        self._latest: deque[Equivocation] = deque(maxlen=SHOWN)
        self.count = 0
        """Equivocations since the process started."""

    def look(self, block: Block, proposal: Proposal, now: float) -> None:
        """Record a verified block; `now` is in Unix seconds."""
        if proposal.proposer is None:
            return
        place = _Slot(block.parent_id, proposal.slot, proposal.proposer)
        known = self._seen.peek(place)
        if known is None:
            self._seen.put(place, known := [])
        if block.block_id in known:
            return
        if len(known) < BLOCKS:
            known.append(block.block_id)
        if known[0] == block.block_id:
            return
        found = Equivocation(
            place.proposer, block.height, place.slot, known[0], block.block_id, round(now, 3)
        )
        self.count += 1
        self._latest.append(found)
        if len(known) == 2:  # log once per slot, so that a proposer cannot flood the log
            _log.warning(
                "%s: equivocation: %s signed two blocks of height %d for its slot %d: %s, %s",
                title(self._alias),
                *found[:-1],
            )

    def latest(self) -> tuple[Equivocation, ...]:
        """Return the most recent equivocations, oldest first."""
        return tuple(self._latest)
