"""A decision among the children of one block: a trie over the bits of their IDs (snowman.md 4).

Children whose IDs begin with the same bits gain confidence together on those bits, while their votes
split further down. Bit i of an ID is (byte[i // 8] >> (i % 8)) & 1, which is bit i of the ID read as a
little-endian number. This module represents IDs as such numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from network_app.snowman.parameters import SnowParameters
from primitives.ids import ID

C = TypeVar("C")


@dataclass(slots=True)
class UnarySnowflake:
    """Confidence in the only choice."""

    parameters: SnowParameters
    confidence: int = 0
    """Number of consecutive successful polls."""
    finalized: bool = False

    def record_poll(self, votes: int) -> None:
        """Count a poll with at least alphaPreference votes, even after finalisation."""
        if votes < self.parameters.alpha_confidence:
            self.confidence = 0
            return
        self.confidence += 1
        self.finalized = self.finalized or self.confidence >= self.parameters.beta

    def record_unsuccessful_poll(self) -> None:
        """Reset the confidence; a final decision stays final."""
        self.confidence = 0

    def extend(self, preference: C) -> "Snowflake[C]":
        """Return a decision among several choices with this preference and confidence."""
        return Snowflake(self.parameters, preference, self.confidence, self.finalized)

    def clone(self) -> "UnarySnowflake":
        """Return a copy."""
        return UnarySnowflake(self.parameters, self.confidence, self.finalized)


@dataclass(slots=True)
class Snowflake(Generic[C]):
    """Confidence in one of several choices; in the trie of siblings a choice is a bit, 0 or 1."""

    parameters: SnowParameters
    preference: C
    confidence: int = 0
    """Number of consecutive successful polls for the preference."""
    finalized: bool = False

    def record_poll(self, votes: int, choice: C) -> None:
        """Count the votes for one choice."""
        if self.finalized:
            return
        if votes < self.parameters.alpha_preference:
            self.confidence = 0
            return
        if choice != self.preference:
            self.confidence = 0
        self.preference = choice
        if votes < self.parameters.alpha_confidence:
            self.confidence = 0
            return
        self.confidence += 1
        self.finalized = self.confidence >= self.parameters.beta

    def record_unsuccessful_poll(self) -> None:
        """Reset the confidence; a final decision stays final."""
        self.confidence = 0


BITS = 256
"""Number of bits in an ID."""

Votes = Mapping[int, int]
"""Votes by ID as a number."""


@dataclass(slots=True)
class UnaryNode:
    """A range of bits in which all choices below agree."""

    choice: int
    """The preferred choice below."""
    decided: int
    """The first bit of the range; all bits before it are decided."""
    common: int
    """The first bit after the range."""
    snowflake: UnarySnowflake
    reset: bool = False
    """Whether the child must reset its confidence before its next poll."""
    child: "Node | None" = None

    @property
    def preference(self) -> int:
        """The preferred choice below."""
        return self.choice

    def add(self, choice: int) -> "Node":
        """Add a choice; return the node that takes this node's place."""
        if self.snowflake.finalized:
            return self
        bit = _first_difference(self.choice, choice, self.decided, self.common)
        if bit is None:
            if self.child is not None:
                self.child = self.child.add(choice)
            return self
        return self._split(choice, bit)

    def record_poll(self, votes: Votes, *, reset: bool) -> "tuple[Node, bool]":
        """Count a poll; return the node that takes this node's place, and whether the poll succeeded."""
        if reset:
            self.snowflake.record_unsuccessful_poll()
            self.reset = True
        number = sum(votes.values())
        if number < self.snowflake.parameters.alpha_preference:
            self.snowflake.record_unsuccessful_poll()
            self.reset = True
            return self, False
        self.snowflake.record_poll(number)
        if self.child is not None:
            child, _ = self.child.record_poll(votes, reset=self.reset)
            if self.snowflake.finalized:
                return child, True
            self.child = child
            self.choice = child.preference
        self.reset = False
        return self, True

    def _split(self, choice: int, bit: int) -> "Node":
        """Add a choice that differs in a bit of the range; return the node that takes this node's place."""
        parameters = self.snowflake.parameters
        side = _bit(self.choice, bit)
        branch = BinaryNode(
            bit,
            [choice, self.choice] if side else [self.choice, choice],
            self.snowflake.extend(side),
            [self.reset, self.reset],
        )
        leaf = UnaryNode(choice, bit + 1, BITS, UnarySnowflake(parameters))
        if self.common == self.decided + 1:
            branch.put(side, self.child, leaf)
            return branch
        if bit == self.decided:
            self.decided += 1
            branch.put(side, self, leaf)
            return branch
        if bit == self.common - 1:
            self.common -= 1
            branch.put(side, self.child, leaf)
            self.child = branch
            return self
        head = UnaryNode(self.choice, self.decided, bit, self.snowflake.clone(), child=branch)
        self.decided = bit + 1
        branch.put(side, self, leaf)
        return head


@dataclass(slots=True)
class BinaryNode:
    """A bit in which choices differ."""

    bit: int
    choices: list[int]
    """The preferred choice of each side."""
    snowflake: Snowflake[int]
    reset: list[bool]
    """For each side, whether its child must reset its confidence before its next poll."""
    children: "list[Node] | None" = None

    @property
    def decided(self) -> int:
        """The first bit that is not decided."""
        return self.bit

    @property
    def preference(self) -> int:
        """The preferred choice below."""
        return self.choices[self.snowflake.preference]

    def put(self, side: int, child: "Node | None", other: "Node") -> None:
        """Set both children; the last bit has no children."""
        if child is not None:
            self.children = [other, child] if side else [child, other]

    def add(self, choice: int) -> "Node":
        """Add a choice; return the node that takes this node's place."""
        if self.children is not None:
            side = _bit(choice, self.bit)
            self.children[side] = self.children[side].add(choice)
        return self

    def record_poll(self, votes: Votes, *, reset: bool) -> "tuple[Node, bool]":
        """Count a poll; return the node that takes this node's place, and whether the poll succeeded."""
        split: tuple[dict[int, int], dict[int, int]] = ({}, {})
        for choice, number in votes.items():
            split[_bit(choice, self.bit)][choice] = number
        side = int(sum(split[1].values()) >= self.snowflake.parameters.alpha_preference)
        number = sum(split[side].values())
        if reset:
            self.snowflake.record_unsuccessful_poll()
            self.reset[side] = True
        self.reset[1 - side] = True
        if number < self.snowflake.parameters.alpha_preference:
            self.snowflake.record_unsuccessful_poll()
            self.reset[side] = True
            return self, False
        self.snowflake.record_poll(number, side)
        if self.children is not None:
            child, _ = self.children[side].record_poll(split[side], reset=self.reset[side])
            if self.snowflake.finalized:
                return child, True
            self.children[side] = child
            self.choices[side] = child.preference
        self.reset[side] = False
        return self, True


Node = UnaryNode | BinaryNode


@dataclass(slots=True)
class SiblingTrie:
    """The decision among the children of one block.

    Args:
        parameters: Quorums and number of consecutive polls.
        first: The first child.
    """

    parameters: SnowParameters
    first: ID
    root: Node = field(init=False)
    reset: bool = field(init=False, default=False)
    """Whether all confidence must be reset before the next poll."""

    def __post_init__(self) -> None:
        self.root = UnaryNode(number_of(self.first), 0, BITS, UnarySnowflake(self.parameters))

    @property
    def preference(self) -> ID:
        """The preferred child."""
        return ID(self.root.preference.to_bytes(BITS // 8, "little"))

    @property
    def finalized(self) -> bool:
        """Whether the preferred child is final."""
        return self.root.snowflake.finalized

    def add(self, child: ID) -> None:
        """Add a child; ignore it if it differs in a bit that is already decided."""
        number = number_of(child)
        if self._is_open(number):
            self.root = self.root.add(number)

    def record_poll(self, votes: Mapping[ID, int]) -> bool:
        """Count the votes for children and their descendants; return whether the poll was successful."""
        numbered = {number_of(child): count for child, count in votes.items()}
        counted = {child: count for child, count in numbered.items() if self._is_open(child)}
        self.root, successful = self.root.record_poll(counted, reset=self.reset)
        self.reset = False
        return successful

    def record_unsuccessful_poll(self) -> None:
        """Reset all confidence; decided bits stay decided."""
        self.reset = True

    def _is_open(self, choice: int) -> bool:
        decided = (1 << self.root.decided) - 1
        return not (choice ^ self.root.preference) & decided


def number_of(block_id: ID) -> int:
    """Return an ID as the number whose bits are compared."""
    return int.from_bytes(block_id, "little")


def _bit(choice: int, bit: int) -> int:
    return choice >> bit & 1


def _first_difference(one: int, other: int, first: int, end: int) -> int | None:
    """Return the first bit from `first` below `end` in which two numbers differ, or None."""
    difference = (one ^ other) >> first
    if not difference:
        return None
    bit = first + (difference & -difference).bit_length() - 1
    return bit if bit < end else None
