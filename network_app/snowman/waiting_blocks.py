"""Blocks that wait: jobs until other blocks are issued or abandoned, and blocks that failed verification (snowman.md 8.1).

Votes for a block that failed verification count for its ancestors.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from chainvm.port import Block
from primitives.bounded_cache import BoundedCache
from primitives.ids import ID

J = TypeVar("J")


@dataclass(slots=True)
class _Waiting(Generic[J]):
    job: J
    missing: set[ID]
    abandoned: list[ID] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Ready(Generic[J]):
    """A job whose dependencies are all issued or abandoned."""

    job: J
    abandoned: tuple[ID, ...]
    """The dependencies that will not be issued."""


class Jobs(Generic[J]):
    """Jobs by the blocks that they depend on; the jobs of a block are returned in the order of `add`."""

    def __init__(self) -> None:
        self._of: dict[ID, list[_Waiting[J]]] = {}

    def __len__(self) -> int:
        """Return the number of blocks that jobs wait for."""
        return len(self._of)

    def waits_for(self, block_id: ID) -> bool:
        """Return whether any job waits for a block."""
        return block_id in self._of

    def add(self, job: J, dependencies: Iterable[ID]) -> Ready[J] | None:
        """Add a job; return it immediately if it has no dependencies."""
        waiting = _Waiting(job, set(dependencies))
        if not waiting.missing:
            return Ready(job, ())
        for block_id in waiting.missing:
            self._of.setdefault(block_id, []).append(waiting)
        return None

    def fulfil(self, block_id: ID) -> list[Ready[J]]:
        """Note that a block was issued; return the jobs without further dependencies, in order."""
        return self._settle(block_id, abandoned=False)

    def abandon(self, block_id: ID) -> list[Ready[J]]:
        """Note that a block will not be issued; return the jobs without further dependencies, in order."""
        return self._settle(block_id, abandoned=True)

    def _settle(self, block_id: ID, *, abandoned: bool) -> list[Ready[J]]:
        ready: list[Ready[J]] = []
        for waiting in self._of.pop(block_id, ()):
            waiting.missing.discard(block_id)
            if abandoned:
                waiting.abandoned.append(block_id)
            if not waiting.missing:
                ready.append(Ready(waiting.job, tuple(waiting.abandoned)))
        return ready


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
            descendant = waiting.pop()
            del self._parents[descendant]
            waiting += self._children.pop(descendant, ())

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
