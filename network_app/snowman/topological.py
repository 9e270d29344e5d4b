"""The tree of processing blocks, and the decisions of polls on it (snowman.md 5).

Each block that has processing children owns a trie that decides among them. A vote for a block is also a
vote for all its ancestors. Blocks are IDs and heights here; decisions are returned for the caller to execute.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from chainvm.errors import DuplicateBlock, UnknownParent
from network_app.snowman.parameters import SnowParameters
from network_app.snowman.trie import SiblingTrie
from primitives.ids import ID


class VoteDecision(NamedTuple):
    """An accepted block, and the blocks rejected for it."""

    accepted: ID
    parent: ID
    """The previously last accepted block."""
    rejected: tuple[ID, ...]
    """Parents come before their children."""


@dataclass(slots=True)
class _Block:
    parent: ID | None
    height: int
    children: list[ID] = field(default_factory=list)
    trie: SiblingTrie | None = None
    falter: bool = False
    """Whether the trie must reset its confidence before its next poll."""


class Topological:
    """The last accepted block and all processing ones.

    Args:
        parameters: Quorums and number of consecutive polls.
        last_accepted: The root of the tree.
        height: Height of that block.
    """

    def __init__(self, parameters: SnowParameters, last_accepted: ID, height: int) -> None:
        self._parameters = parameters
        self._blocks = {last_accepted: _Block(None, height)}
        self._preferred: dict[ID, int] = {}
        self._preferred_at: dict[int, ID] = {}
        self.last_accepted = last_accepted
        self.last_height = height
        self.preference = last_accepted
        """The preferred leaf; the last accepted block if no block is processing."""
        self.successful_polls = 0
        self.failed_polls = 0

    def __len__(self) -> int:
        """Return the number of processing blocks."""
        return len(self._blocks) - 1

    def is_processing(self, block_id: ID) -> bool:
        """Return whether a block is processing."""
        return block_id in self._blocks and block_id != self.last_accepted

    def is_decided(self, parent: ID, height: int) -> bool:
        """Return whether a block was accepted or rejected, or can only be rejected."""
        if height <= self.last_height:
            return True
        return height == self.last_height + 1 and parent != self.last_accepted

    def is_preferred(self, block_id: ID) -> bool:
        """Return whether a block is on the preferred branch, which includes the last accepted block."""
        return block_id in self._preferred or block_id == self.last_accepted

    def preferred_at(self, height: int) -> ID | None:
        """Return the preferred processing block at a height, or None."""
        return self._preferred_at.get(height)

    def parent_of(self, block_id: ID) -> ID | None:
        """Return the parent of a processing block; None for any other."""
        block = self._blocks.get(block_id)
        return None if block is None else block.parent

    def processing(self) -> list[ID]:
        """Return all processing blocks, in the order in which they were added."""
        return [block_id for block_id in self._blocks if block_id != self.last_accepted]

    def confidence(self, block_id: ID) -> int:
        """Return the number of consecutive polls for a block among its siblings; 0 if not preferred."""
        parent = self._blocks[block_id].parent
        trie = None if parent is None else self._blocks[parent].trie
        return 0 if trie is None or trie.preference != block_id else trie.root.snowflake.confidence

    def add(self, block_id: ID, parent_id: ID, height: int) -> None:
        """Make a verified block processing.

        Raises:
            DuplicateBlock: It is already processing, or it is the last accepted block.
            UnknownParent: Its parent is unknown, or was decided.
        """
        if block_id in self._blocks:
            raise DuplicateBlock(block_id)
        parent = self._blocks.get(parent_id)
        if parent is None:
            raise UnknownParent(block_id, parent_id)
        parent.children.append(block_id)
        if parent.trie is None:
            parent.trie = SiblingTrie(self._parameters, block_id)
        else:
            parent.trie.add(block_id)
        self._blocks[block_id] = _Block(parent_id, height)
        if parent_id == self.preference:
            self._prefer(block_id, height)
            self.preference = block_id

    def record_poll(self, votes: Mapping[ID, int]) -> list[VoteDecision]:
        """Count a poll's votes by block; return the resulting decisions, in order."""
        stack = self._stack(votes)
        if not stack:
            self._blocks[self.last_accepted].falter = True
            self.failed_polls += bool(len(self))
            return []
        decisions: list[VoteDecision] = []
        preferred, on_path, successful = self.last_accepted, True, False
        for index, (block_id, bag) in enumerate(stack):
            block = self._blocks.get(block_id)
            if block is None:
                break  # rejected by a decision above, with all its descendants
            following = stack[index + 1][0] if index + 1 < len(stack) else None
            trie = block.trie
            assert trie is not None
            falters = block.falter
            if falters:
                trie.record_unsuccessful_poll()
                block.falter = False
            successful = trie.record_poll(bag) or successful
            if trie.finalized and block_id == self.last_accepted:
                decisions.append(self._accept(trie.preference))
            if on_path:
                preferred = trie.preference
                on_path = following == preferred
            self._let_falter(block, None if falters else following)
        self.successful_polls += successful
        self.failed_polls += not successful
        if preferred not in self._preferred:
            self._prefer_branch(preferred)
        return decisions

    def _stack(self, votes: Mapping[ID, int]) -> list[tuple[ID, dict[ID, int]]]:
        """Return the blocks whose children have enough votes together, from the root, with those votes."""
        enough = self._parameters.alpha_preference
        if sum(votes.values()) < enough:
            return []
        weights: dict[ID, int] = {}
        for block_id, number in votes.items():
            for ancestor in self._upwards(block_id):
                weights[ancestor] = weights.get(ancestor, 0) + number
        stack: list[tuple[ID, dict[ID, int]]] = []
        parent: ID | None = self.last_accepted
        while parent is not None:
            children = self._blocks[parent].children
            bag = {child: weights[child] for child in children if child in weights}
            if sum(bag.values()) < enough:
                break
            stack.append((parent, bag))
            # More than half of the votes are below one child, or the loop ends at that child.
            parent = max(bag, key=bag.__getitem__)
        return stack

    def _upwards(self, block_id: ID) -> Iterator[ID]:
        """Yield a processing block and its processing ancestors; nothing for any other block."""
        block = self._blocks.get(block_id)
        while block is not None and block.parent is not None:
            yield block_id
            block_id = block.parent
            block = self._blocks[block_id]

    def _let_falter(self, block: _Block, spared: ID | None) -> None:
        """Mark the children's tries to reset their confidence, except the one that this poll continues in."""
        for child in block.children:
            found = self._blocks.get(child)
            if found is not None and child != spared:
                found.falter = True

    def _accept(self, block_id: ID) -> VoteDecision:
        """Accept a child of the last accepted block; return the decision with its rejected blocks."""
        parent_id = self.last_accepted
        parent = self._blocks.pop(parent_id)
        rejected: list[ID] = []
        waiting = [child for child in parent.children if child != block_id]
        while waiting:
            rejected_id = waiting.pop()
            rejected.append(rejected_id)
            waiting += self._blocks.pop(rejected_id).children
        block = self._blocks[block_id]
        block.parent = None
        self._preferred.pop(block_id, None)
        self._preferred_at.pop(block.height, None)
        self.last_accepted, self.last_height = block_id, block.height
        return VoteDecision(block_id, parent_id, tuple(rejected))

    def _prefer(self, block_id: ID, height: int) -> None:
        self._preferred[block_id] = height
        self._preferred_at[height] = block_id

    def _prefer_branch(self, block_id: ID) -> None:
        """Prefer the branch through a block, and below it the preferences of the tries."""
        self._preferred.clear()
        self._preferred_at.clear()
        for upward in self._upwards(block_id):
            self._prefer(upward, self._blocks[upward].height)
        while (trie := self._blocks[block_id].trie) is not None:
            block_id = trie.preference
            self._prefer(block_id, self._blocks[block_id].height)
        self.preference = block_id
