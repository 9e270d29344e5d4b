"""The fees of accepted blocks, from which fee histories are made."""

import threading
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from cchain_app.blocks.assembly import BlobFees
from cchain_app.feemarket import BlockFees
from primitives.bounded_cache import BoundedCache

MOST_BLOCKS: Final = 2_048
"""Blocks whose fees are remembered: twice as many as the longest fee history has. About half a KiB for each."""


class StoredFees(NamedTuple):
    """The fees of an accepted block."""

    block: BlockFees
    blobs: BlobFees


class FeesMemory:
    """The fees of the blocks that were last asked for, by height."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._fees: BoundedCache[int, StoredFees] = BoundedCache(MOST_BLOCKS)
        self._resets = 0

    def __len__(self) -> int:
        return len(self._fees)

    def of(
        self, first: int, last: int, read: Callable[[int, int], Sequence[StoredFees]]
    ) -> list[StoredFees]:
        """Return the fees of blocks `first` to `last`, lowest first.

        Args:
            first: Height of the first block.
            last: Height of the last one, which must not be above the head.
            read: Reads the fees of blocks in a range of heights from the rows.
        """
        resets = self._resets
        known = [self._fees.peek(number) for number in range(first, last + 1)]
        missing = [first + place for place, fees in enumerate(known) if fees is None]
        if not missing:
            return [fees for fees in known if fees is not None]
        new = {fees.block.number: fees for fees in read(missing[0], missing[-1])}
        with self._lock:
            if self._resets == resets:  # otherwise other blocks may have these heights now
                for number, fees in new.items():
                    self._fees.put(number, fees)
        both = (new.get(first + place, fees) for place, fees in enumerate(known))
        return [fees for fees in both if fees is not None]

    def reset(self) -> None:
        """Clear the cache, and discard reads in progress: blocks of some heights may have been replaced."""
        with self._lock:
            self._resets += 1
            self._fees.clear()
