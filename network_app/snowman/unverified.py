"""Blocks that failed verification here, or whose ancestor did: votes for them count further up (snowman.md 8.1)."""

from collections import OrderedDict
from typing import Generic, TypeVar

from chainvm.port import Block
from primitives.ids import ID

CACHE_BYTES = 64 * 1024 * 1024
"""Of blocks that are kept; the tree keeps their IDs beyond that."""

B = TypeVar("B", bound=Block)


class UnverifiedBlocks(Generic[B]):
    """The tree of those blocks by parent, and the latest of them whole.

    Args:
        cache_bytes: So many bytes of blocks are kept.
    """

    def __init__(self, cache_bytes: int = CACHE_BYTES) -> None:
        self._parents: dict[ID, ID] = {}
        self._children: dict[ID, set[ID]] = {}
        self._cache: OrderedDict[ID, B] = OrderedDict()
        self._bytes = 0
        self._most = cache_bytes

    def __len__(self) -> int:
        return len(self._parents)

    def __contains__(self, block_id: ID) -> bool:
        return block_id in self._parents

    def get(self, block_id: ID) -> B | None:
        """Return one of the blocks that are kept whole."""
        found = self._cache.get(block_id)
        if found is not None:
            self._cache.move_to_end(block_id)
        return found

    def add(self, block: B) -> None:
        """Remember a block."""
        block_id = block.block_id
        self._parents[block_id] = block.parent_id
        self._children.setdefault(block.parent_id, set()).add(block_id)
        self._forget(block_id)
        self._cache[block_id] = block
        self._bytes += len(block.raw)
        while self._bytes > self._most:
            self._forget(next(iter(self._cache)))

    def remove(self, block_id: ID) -> None:
        """Forget a block that was verified after all."""
        self._forget(block_id)
        parent = self._parents.pop(block_id, None)
        if parent is not None:
            self._unlink(parent, block_id)

    def remove_descendants(self, block_id: ID) -> None:
        """Take all below a block out of the tree: that block is decided."""
        waiting = list(self._children.pop(block_id, ()))
        while waiting:
            one = waiting.pop()
            del self._parents[one]
            waiting += self._children.pop(one, ())

    def verified_ancestor(self, block_id: ID) -> ID:
        """Return the nearest ancestor that is not in the tree, or the block itself if it is not."""
        while (parent := self._parents.get(block_id)) is not None:
            block_id = parent
        return block_id

    def _unlink(self, parent: ID, block_id: ID) -> None:
        siblings = self._children[parent]
        siblings.discard(block_id)
        if not siblings:
            del self._children[parent]

    def _forget(self, block_id: ID) -> None:
        found = self._cache.pop(block_id, None)
        if found is not None:
            self._bytes -= len(found.raw)
