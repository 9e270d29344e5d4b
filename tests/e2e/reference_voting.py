"""Block decisions as another implementation could make them: without a trie, one counter per set of siblings.

Written from the text of snowman.md 2 to 5 without the product's code, which counts votes in tries. Both must
accept the same blocks.
"""

from collections import Counter
from dataclasses import dataclass, field

from primitives.ids import ID

K, ALPHA, BETA = 20, 15, 20
"""The defaults of the reference implementation (snowman.md 1)."""


@dataclass
class Held:
    """A known block, accepted or processing."""

    parent: ID
    height: int
    raw: bytes
    children: list[ID] = field(default_factory=list)
    preferred: ID | None = None
    """The preferred child."""
    confidence: int = 0


class Voting:
    """The blocks of one validator.

    Args:
        genesis_id: ID of the genesis block.
        raw: Bytes of the genesis block.
    """

    def __init__(self, genesis_id: ID, raw: bytes) -> None:
        self.accepted = [genesis_id]
        self.blocks = {genesis_id: Held(ID(bytes(32)), 0, raw)}

    @property
    def last(self) -> ID:
        """The last accepted block."""
        return self.accepted[-1]

    @property
    def preference(self) -> ID:
        """The preferred leaf."""
        found = self.last
        while (child := self.blocks[found].preferred) is not None:
            found = child
        return found

    @property
    def is_idle(self) -> bool:
        """Whether no block is processing."""
        return not self.blocks[self.last].children

    def add(self, block_id: ID, parent_id: ID, raw: bytes) -> bool:
        """Add a block. Return False if its parent is unknown or has an accepted child already."""
        parent = self.blocks.get(parent_id)
        if block_id in self.blocks or parent is None:
            return block_id in self.blocks
        if parent.height + 1 < len(self.accepted):
            return False
        self.blocks[block_id] = Held(parent_id, parent.height + 1, raw)
        parent.children.append(block_id)
        parent.preferred = parent.preferred or block_id
        return True

    def preferred_at(self, height: int) -> ID:
        """Return the accepted or preferred block at a height; for heights above the preferred leaf the leaf."""
        if height < len(self.accepted):
            return self.accepted[height]
        found = self.preference
        while self.blocks[found].height > height:
            found = self.blocks[found].parent
        return found

    def record(self, votes: Counter[ID]) -> None:
        """Apply the votes of a poll, and accept the blocks that it decides."""
        weights: Counter[ID] = Counter()
        for block_id, number in votes.items():
            one = block_id
            while one in self.blocks and self.blocks[one].height >= len(self.accepted):
                weights[one] += number
                one = self.blocks[one].parent
        visited: set[ID] = set()
        at: ID | None = self.last
        while at is not None and (children := self.blocks[at].children):
            held, best = self.blocks[at], max(children, key=weights.__getitem__)
            if weights[best] < ALPHA:
                break
            held.confidence = held.confidence + 1 if held.preferred == best else 1
            held.preferred = best
            visited.add(at)
            at = best
        for block_id in self.blocks.keys() - visited:
            self.blocks[block_id].confidence = 0
        while self.blocks[self.last].confidence >= BETA:
            self._accept()

    def _accept(self) -> None:
        parent = self.blocks[self.last]
        block_id = parent.preferred
        assert block_id is not None
        waiting = [child for child in parent.children if child != block_id]
        while waiting:
            waiting += self.blocks.pop(waiting.pop()).children
        parent.children = [block_id]
        self.accepted.append(block_id)
