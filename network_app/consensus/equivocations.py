"""Proposers that sign two different blocks for one slot (snowman.md 14.8)."""

import logging
from collections import OrderedDict, deque
from typing import NamedTuple

from chainvm.port import Block
from network_app.consensus.report import Equivocation
from network_app.proposervm.ports import Proposal
from primitives.ids import ID, NodeID

SLOTS = 1024
"""Slots whose blocks are remembered."""
BLOCKS = 8
"""Of one slot."""
SHOWN = 16
"""The latest ones that are named."""

_log = logging.getLogger(__name__)


class _Slot(NamedTuple):
    parent_id: ID
    slot: int
    proposer: NodeID


class Equivocations:
    """Counts and names them. Votes decide between the blocks as between any others.

    Slots begin with the time of a block's parent, so two blocks are of one slot only if they follow the same
    one: whoever comes to prefer another parent proposes anew and does nothing wrong.

    Unspecified: the reference does not look at it. A node that was killed may do it without malice: it does
    not know any more what it has signed.

    Args:
        alias: The chain's, for the log.
    """

    def __init__(self, alias: str) -> None:
        self._alias = alias
        self._seen: OrderedDict[_Slot, list[ID]] = OrderedDict()
        self._latest: deque[Equivocation] = deque(maxlen=SHOWN)
        self.count = 0
        """Since the process began."""

    def look(self, block: Block, proposal: Proposal, now: float) -> None:
        """Note a verified block, at a time in Unix seconds."""
        if proposal.proposer is None:
            return
        place = _Slot(block.parent_id, proposal.slot, proposal.proposer)
        known = self._seen.setdefault(place, [])
        if block.block_id in known:
            return
        if len(known) < BLOCKS:
            known.append(block.block_id)
        if len(self._seen) > SLOTS:
            self._seen.popitem(last=False)
        if known[0] == block.block_id:
            return
        found = Equivocation(
            place.proposer, block.height, place.slot, known[0], block.block_id, round(now, 3)
        )
        self.count += 1
        self._latest.append(found)
        if len(known) == 2:  # whoever signs more for the same slot does not fill the log
            _log.warning(
                "%s-Chain: equivocation: %s signed two blocks of height %d for its slot %d: %s, %s",
                self._alias,
                *found[:-1],
            )

    def latest(self) -> tuple[Equivocation, ...]:
        """Return the latest ones, the last one last."""
        return tuple(self._latest)
