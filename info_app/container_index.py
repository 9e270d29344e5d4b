"""The accepted blocks of a chain by their order of acceptance, for `index.*` (xchain.md 17).

A container is an outer block. The first one, index 0, is the block at height 1: the first block has no outer block.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from network_app.chains.outer_blocks import OuterRows
from network_app.store import outer
from primitives.ids import ID

MAX_FETCHED: Final = 1024
"""Limit of containers in an answer."""
MAX_BYTES: Final = 8 * 1024 * 1024
"""Unspecified: limit of their bytes; the reference has none. A range that is cut off continues with the next index."""


class Container(NamedTuple):
    """An accepted outer block."""

    block_id: ID
    raw: bytes
    time: int
    """Unix seconds. Unspecified: the time in the block; the reference shows when its node has accepted it."""
    number: int
    """Its index."""


class ContainerIndex:
    """The containers of a chain.

    Args:
        rows: Returns the chain's outer blocks; None: an index that stays empty, as those of a chain's vertices and
            transactions do since it is linear.
    """

    def __init__(self, rows: Callable[[], OuterRows] | None = None) -> None:
        self._rows = rows

    def last(self) -> int | None:
        """Return the index of the last accepted container; None if there is none."""
        if self._rows is None:
            return None
        rows = self._rows()
        tip = outer.tip(rows.db, rows.alias)
        return None if tip is None else tip.height - rows.genesis.height - 1

    def index_of(self, block_id: ID) -> int | None:
        """Return the index of a container; None if it is not accepted."""
        if self._rows is None:
            return None
        rows = self._rows()
        height = outer.heights_of(rows.db, rows.alias, [block_id]).get(block_id)
        return None if height is None else height - rows.genesis.height - 1

    def between(self, first: int, last: int) -> list[Container]:
        """Return containers by their indexes, in order; fewer if they exceed `MAX_BYTES`, but at least one.

        Args:
            first: The first index.
            last: The last one, at most that of the last accepted container.
        """
        if self._rows is None:
            return []
        rows = self._rows()
        begin = rows.genesis.height + 1
        found = rows.raws(first + begin, last + begin, MAX_BYTES)
        if not found:
            return []
        low, high = found[0][0].height, found[-1][0].height
        # An option has no time; its proposal, directly before it, has one.
        times, time = {}, rows.genesis.time
        for one in outer.between(rows.db, rows.alias, low - 1, high):
            times[one.height] = time = time if one.time is None else one.time
        return [
            Container(ref.block_id, raw, times[ref.height], ref.height - begin)
            for ref, raw in found
        ]
