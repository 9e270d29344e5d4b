"""What was reckoned from an accepted block, kept by its hash: such a block never changes."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from primitives.evm import Hash

T = TypeVar("T")


class Remembered(Generic[T]):
    """Values by block hash; the oldest goes when there are too many. Safe to use from any thread."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._values: dict[Hash, T] = {}

    def of(self, block_hash: Hash, reckon: Callable[[], T]) -> T:
        """Return what is known of a block, reckoning it at first."""
        known = self._values.get(block_hash)
        if known is None:
            known = reckon()
            with self._lock:
                self._values[block_hash] = known
                while len(self._values) > self._most:
                    del self._values[next(iter(self._values))]
        return known
