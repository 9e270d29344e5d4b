"""Decisions on blocks as any other implementation may count them: flat, one count for each parent's children.

Written after the words of snowman.md 2 to 5 without the product's code, whose tries count otherwise: both have
to come to the same blocks.
"""

from collections import Counter
from dataclasses import dataclass, field

from primitives.ids import ID

K, ALPHA, BETA = 20, 15, 20
"""The reference's defaults (snowman.md 1)."""


@dataclass
class Held:
    """A block that is known, accepted or processing."""

    parent: ID
    height: int
    raw: bytes
    children: list[ID] = field(default_factory=list)
    preferred: ID | None = None
    """Of the children."""
    confidence: int = 0


class Voting:
    """The blocks of one validator.

    Args:
        genesis_id: The first accepted block.
        raw: Its bytes.
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
        """Whether nothing is processing."""
        return not self.blocks[self.last].children

    def add(self, block_id: ID, parent_id: ID, raw: bytes) -> bool:
        """Take a block in; False where its parent is not known, or something else was accepted after it."""
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
        """Return the accepted or preferred block at a height; the leaf above all."""
        if height < len(self.accepted):
            return self.accepted[height]
        found = self.preference
        while self.blocks[found].height > height:
            found = self.blocks[found].parent
        return found

    def record(self, votes: Counter[ID]) -> None:
        """Count the votes of a poll, and accept what they decide."""
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
        waiting = [one for one in parent.children if one != block_id]
        while waiting:
            waiting += self.blocks.pop(waiting.pop()).children
        parent.children = [block_id]
        self.accepted.append(block_id)
