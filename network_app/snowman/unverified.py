"""Blocks that failed verification, and their descendants; votes for them count for ancestors (snowman.md 8.1)."""

from typing import Generic, TypeVar

from chainvm.port import Block
from primitives.bounded_cache import BoundedCache
from primitives.ids import ID

CACHE_BYTES = 64 * 1024 * 1024
"""Size of the cache of whole blocks; the tree keeps the IDs of further blocks."""

B = TypeVar("B", bound=Block)


class UnverifiedBlocks(Generic[B]):
    """The tree of unverified blocks by parent, with a cache of the most recently used whole blocks.

    Args:
        cache_bytes: Size of the cache.
    """

    def __init__(self, cache_bytes: int = CACHE_BYTES) -> None:
        self._parents: dict[ID, ID] = {}
        self._children: dict[ID, set[ID]] = {}
        self._cache: BoundedCache[ID, B] = BoundedCache(
            most_weight=cache_bytes, weigh=lambda _, block: len(block.raw)
        )

    def __len__(self) -> int:
        return len(self._parents)

    def __contains__(self, block_id: ID) -> bool:
        return block_id in self._parents

    def get(self, block_id: ID) -> B | None:
        """Return a block from the cache, or None."""
        return self._cache.get(block_id)

    def add(self, block: B) -> None:
        """Add a block to the tree and the cache."""
        block_id = block.block_id
        self._parents[block_id] = block.parent_id
        self._children.setdefault(block.parent_id, set()).add(block_id)
        self._cache.put_newest(block_id, block)

    def remove(self, block_id: ID) -> None:
        """Remove a block that was verified later."""
        self._cache.pop(block_id)
        parent = self._parents.pop(block_id, None)
        if parent is not None:
            self._unlink(parent, block_id)

    def remove_descendants(self, block_id: ID) -> None:
        """Remove all descendants of a decided block from the tree."""
        waiting = list(self._children.pop(block_id, ()))
        while waiting:
            one = waiting.pop()
            del self._parents[one]
            waiting += self._children.pop(one, ())

    def verified_ancestor(self, block_id: ID) -> ID:
        """Return the nearest ancestor that is not in the tree, or the block itself if it is not in it."""
        while (parent := self._parents.get(block_id)) is not None:
            block_id = parent
        return block_id

    def _unlink(self, parent: ID, block_id: ID) -> None:
        siblings = self._children[parent]
        siblings.discard(block_id)
        if not siblings:
            del self._children[parent]
