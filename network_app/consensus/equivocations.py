"""Detects proposers that sign two different blocks for one slot (snowman.md 14.8)."""

import logging
from collections import deque
from typing import NamedTuple

from chainvm.port import Block
from network_app.consensus.report import Equivocation
from network_app.proposervm.ports import Proposal
from primitives.bounded_cache import BoundedCache
from primitives.ids import ID, NodeID

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
                "%s-Chain: equivocation: %s signed two blocks of height %d for its slot %d: %s, %s",
                self._alias,
                *found[:-1],
            )

    def latest(self) -> tuple[Equivocation, ...]:
        """Return the most recent equivocations, oldest first."""
        return tuple(self._latest)
