"""The tree of a chain's processing blocks: verified, but neither accepted nor rejected yet.

The tree lives in memory and is lost when the process ends. A restart begins at the last accepted block and
gets the processing blocks again from the peers that still have them (snowman.md 10). Each chain defines the effect
of its blocks, such as the state after a block and its rows; the tree only keeps it.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Generic, NamedTuple, Protocol, TypeVar

from chainvm.errors import DuplicateBlock, NotProcessing, UnknownParent
from primitives.ids import ID


class TreeBlock(Protocol):
    """A block with its place in the tree."""

    @property
    def block_id(self) -> ID:
        """The block's ID."""

    @property
    def parent_id(self) -> ID:
        """The ID of the preceding block."""


B = TypeVar("B", bound=TreeBlock)
E = TypeVar("E")


class Verified(NamedTuple, Generic[B, E]):
    """A verified block and its effect."""

    block: B
    effect: E


@dataclass(frozen=True, slots=True)
class AcceptDecision(Generic[B, E]):
    """The blocks that an acceptance decided."""

    accepted: tuple[Verified[B, E], ...]
    """The accepted blocks, each a child of the one before it."""
    rejected: tuple[B, ...]
    """The rejected blocks, each parent before its children."""

    @property
    def blocks(self) -> tuple[B, ...]:
        """The accepted blocks without their effects."""
        return tuple(verified.block for verified in self.accepted)


@dataclass(slots=True)
class _Node(Generic[B, E]):
    verified: Verified[B, E]
    children: list[ID] = field(default_factory=list)

    @property
    def parent_id(self) -> ID:
        return self.verified.block.parent_id


class ProcessingTree(Generic[B, E]):
    """Processing blocks with their effects, all descendants of the last accepted block. Not thread-safe.

    Args:
        last_accepted: The block at which the tree begins; it is not part of the tree.
        effect: The effect up to that block.
    """

    def __init__(self, last_accepted: ID, effect: E) -> None:
        self._nodes: dict[ID, _Node[B, E]] = {}
        self._roots: list[ID] = []
        self.last_accepted = last_accepted
        self.last_effect = effect
        """The effect of the last accepted block; the chain replaces it after the block is stored."""
        self.preference = last_accepted
        """The block to build on."""

    def __len__(self) -> int:
        return len(self._nodes)

    def __contains__(self, block_id: ID) -> bool:
        return block_id in self._nodes

    def is_parent(self, block_id: ID) -> bool:
        """Return whether a block can be a parent: it is processing or the last accepted one."""
        return block_id in self._nodes or block_id == self.last_accepted

    def get(self, block_id: ID) -> B | None:
        """Return a processing block; None for any other."""
        node = self._nodes.get(block_id)
        return None if node is None else node.verified.block

    def effect(self, block_id: ID) -> E:
        """Return the effect of a processing block or of the last accepted one.

        Raises:
            NotProcessing: The block is neither.
        """
        if block_id == self.last_accepted:
            return self.last_effect
        return self._node(block_id).verified.effect

    def effects(self) -> list[E]:
        """Return the effects of all processing blocks, in the order in which the blocks were added."""
        return [node.verified.effect for node in self._nodes.values()]

    def children(self, block_id: ID) -> tuple[ID, ...]:
        """Return the processing children of a processing block or of the last accepted one."""
        return tuple(self._children(block_id))

    def branch(self, block_id: ID) -> list[B]:
        """Return the blocks from the first undecided ancestor of a block to the block itself.

        Empty for the last accepted block.

        Raises:
            NotProcessing: The block is neither processing nor the last accepted one.
        """
        return [
            self._nodes[ancestor_id].verified.block
            for ancestor_id in reversed(list(self._upwards(block_id)))
        ]

    def consecutive(self, block_ids: Sequence[ID]) -> list[Verified[B, E]]:
        """Return processing blocks that can be accepted together, with their effects.

        Raises:
            NotProcessing: A block is not processing, or does not follow the one before it; the first has to follow
                the last accepted block.
        """
        found: list[Verified[B, E]] = []
        before = self.last_accepted
        for block_id in block_ids:
            node = self._node(block_id)
            if node.parent_id != before:
                kind = "block" if found else "accepted block"
                raise NotProcessing(block_id, f"does not follow the last {kind} {before}")
            found.append(node.verified)
            before = block_id
        return found

    def add(self, block: B, effect: E) -> None:
        """Make a verified block processing.

        Raises:
            DuplicateBlock: The block is already processing.
            UnknownParent: Its parent is neither processing nor the last accepted block.
        """
        block_id = block.block_id
        if block_id in self._nodes:
            raise DuplicateBlock(block_id)
        if not self.is_parent(block.parent_id):
            raise UnknownParent(block_id, block.parent_id)
        self._children(block.parent_id).append(block_id)
        self._nodes[block_id] = _Node(Verified(block, effect))

    @contextmanager
    def all_or_none(self) -> Iterator[None]:
        """Let the body add several blocks; if it raises, those that it has added are taken out again."""
        before = len(self._nodes)
        try:
            yield
        except BaseException:
            for block_id in list(islice(self._nodes, before, None)):
                if block_id in self._nodes:
                    self.reject(block_id)
            raise

    def prefer(self, block_id: ID) -> None:
        """Build on this block from now on.

        Raises:
            NotProcessing: The block is neither processing nor the last accepted one.
        """
        if not self.is_parent(block_id):
            raise NotProcessing(block_id)
        self.preference = block_id

    def accept(self, block_ids: Sequence[ID]) -> AcceptDecision[B, E]:
        """Accept processing blocks, each a child of the one before it: all or none. Their rivals are rejected.

        The siblings of accepted blocks and the siblings' descendants leave the tree. If one of them was preferred,
        the last accepted block becomes preferred.

        Raises:
            NotProcessing: A block is not processing, or does not follow the one before it.
        """
        accepted = self.consecutive(block_ids)
        rejected: list[B] = []
        for block, effect in accepted:
            node = self._nodes.pop(block.block_id)
            for rival in self._roots:
                if rival != block.block_id:
                    rejected += self._take_out(rival)
            self._roots = node.children
            self.last_accepted, self.last_effect = block.block_id, effect
        if self.preference not in self._nodes:
            self.preference = self.last_accepted
        return AcceptDecision(tuple(accepted), tuple(rejected))

    def reject(self, block_id: ID) -> tuple[B, ...]:
        """Take a block and its descendants out of the tree; return them, each parent before its children.

        If one of them was preferred, the block's parent becomes preferred.

        Raises:
            NotProcessing: The block is not processing.
        """
        parent_id = self._node(block_id).parent_id
        self._children(parent_id).remove(block_id)
        rejected = self._take_out(block_id)
        if self.preference not in self._nodes:
            self.preference = parent_id
        return tuple(rejected)

    def reset(self, last_accepted: ID, effect: E) -> None:
        """Discard all blocks and restart the tree at a block: after a restart or a failed commit."""
        self._nodes.clear()
        self._roots = []
        self.last_accepted = self.preference = last_accepted
        self.last_effect = effect

    def _node(self, block_id: ID) -> _Node[B, E]:
        node = self._nodes.get(block_id)
        if node is None:
            raise NotProcessing(block_id)
        return node

    def _children(self, block_id: ID) -> list[ID]:
        return self._roots if block_id == self.last_accepted else self._node(block_id).children

    def _upwards(self, block_id: ID) -> Iterator[ID]:
        while block_id != self.last_accepted:
            yield block_id
            block_id = self._node(block_id).parent_id

    def _take_out(self, block_id: ID) -> list[B]:
        """Remove a block and its descendants, without recursion because a peer can make a branch long."""
        blocks: list[B] = []
        block_ids = [block_id]
        while block_ids:
            node = self._nodes.pop(block_ids.pop())
            blocks.append(node.verified.block)
            block_ids.extend(node.children)
        return blocks
