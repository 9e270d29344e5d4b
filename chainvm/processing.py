"""The tree of a chain's processing blocks: verified, but neither accepted nor rejected yet.

The tree lives in memory and is lost when the process ends. A restart begins at the last accepted block and
gets the processing blocks again from the peers that still have them (snowman.md 10). Each chain decides what
it keeps for a block, such as its state and pending writes; here that is an opaque entry.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from chainvm.errors import DuplicateBlock, NotProcessing, UnknownParent
from primitives.ids import ID

E = TypeVar("E")


@dataclass(slots=True)
class _Node(Generic[E]):
    parent_id: ID
    entry: E
    children: list[ID] = field(default_factory=list)


class ProcessingTree(Generic[E]):
    """Processing blocks by ID, all descendants of the last accepted block. Not thread-safe.

    Args:
        last_accepted: The block at which the tree begins; it is not part of the tree.
    """

    def __init__(self, last_accepted: ID) -> None:
        self._nodes: dict[ID, _Node[E]] = {}
        self._roots: list[ID] = []
        self.last_accepted = last_accepted
        self.preference = last_accepted
        """The block to build on."""

    def __len__(self) -> int:
        return len(self._nodes)

    def __contains__(self, block_id: ID) -> bool:
        return block_id in self._nodes

    def get(self, block_id: ID) -> E | None:
        """Return the entry of a processing block; None for any other."""
        node = self._nodes.get(block_id)
        return None if node is None else node.entry

    def entries(self) -> list[E]:
        """Return the entries of all processing blocks, in the order in which they were added."""
        return [node.entry for node in self._nodes.values()]

    def children(self, block_id: ID) -> tuple[ID, ...]:
        """Return the processing children of a processing block or of the last accepted one."""
        return tuple(self._children(block_id))

    def line(self, block_id: ID) -> list[E]:
        """Return the entries from the first undecided ancestor of a block to the block itself.

        Empty for the last accepted block.

        Raises:
            NotProcessing: The block is neither processing nor the last accepted one.
        """
        return [
            self._nodes[ancestor_id].entry
            for ancestor_id in reversed(list(self._upwards(block_id)))
        ]

    def add(self, block_id: ID, parent_id: ID, entry: E) -> None:
        """Make a verified block processing.

        Raises:
            DuplicateBlock: The block is already processing.
            UnknownParent: Its parent is neither in the tree nor the last accepted block.
        """
        if block_id in self._nodes:
            raise DuplicateBlock(block_id)
        if parent_id not in self._nodes and parent_id != self.last_accepted:
            raise UnknownParent(block_id, parent_id)
        self._children(parent_id).append(block_id)
        self._nodes[block_id] = _Node(parent_id, entry)

    def prefer(self, block_id: ID) -> None:
        """Build on this block from now on.

        Raises:
            NotProcessing: The block is neither processing nor the last accepted one.
        """
        if block_id not in self._nodes and block_id != self.last_accepted:
            raise NotProcessing(block_id)
        self.preference = block_id

    def accept(self, block_id: ID) -> list[E]:
        """Take a child of the last accepted block out of the tree and make it the last accepted block.

        Its siblings and their descendants are removed from the tree; their entries are returned, each
        parent before its children. If one of them was preferred, the accepted block becomes preferred.

        Raises:
            NotProcessing: The block is not processing, or its parent is not accepted yet.
        """
        node = self._nodes.get(block_id)
        if node is None:
            raise NotProcessing(block_id)
        if node.parent_id != self.last_accepted:
            raise NotProcessing(block_id, f"does not follow the last accepted {self.last_accepted}")
        rejected = [
            entry for rival in self._roots if rival != block_id for entry in self._take_out(rival)
        ]
        del self._nodes[block_id]
        self._roots = node.children
        self.last_accepted = block_id
        if self.preference not in self._nodes:
            self.preference = block_id
        return rejected

    def reject(self, block_id: ID) -> list[E]:
        """Take a block and its descendants out of the tree; return their entries, its own first.

        If one of them was preferred, the block's parent becomes preferred.

        Raises:
            NotProcessing: The block is not processing.
        """
        node = self._nodes.get(block_id)
        if node is None:
            raise NotProcessing(block_id)
        self._children(node.parent_id).remove(block_id)
        rejected = self._take_out(block_id)
        if self.preference not in self._nodes:
            self.preference = node.parent_id
        return rejected

    def begin_at(self, last_accepted: ID) -> None:
        """Discard all blocks and restart the tree at a block: after a restart or a failed commit."""
        self._nodes.clear()
        self._roots = []
        self.last_accepted = self.preference = last_accepted

    def _children(self, block_id: ID) -> list[ID]:
        node = self._nodes.get(block_id)
        if node is not None:
            return node.children
        if block_id == self.last_accepted:
            return self._roots
        raise NotProcessing(block_id)

    def _upwards(self, block_id: ID) -> Iterator[ID]:
        while block_id != self.last_accepted:
            if block_id not in self._nodes:
                raise NotProcessing(block_id)
            yield block_id
            block_id = self._nodes[block_id].parent_id

    def _take_out(self, block_id: ID) -> list[E]:
        """Remove a block and its descendants, without recursion because a peer can make a branch long."""
        entries: list[E] = []
        block_ids = [block_id]
        while block_ids:
            node = self._nodes.pop(block_ids.pop())
            entries.append(node.entry)
            block_ids.extend(node.children)
        return entries
