"""Accepted blocks as bytes, many at once: what other nodes are served."""

from collections.abc import Iterator
from typing import NamedTuple

from chaindb.database import Rows
from platform_app.chain import PlatformChain
from platform_app.models import BlockKind
from primitives.ids import ID

MOST = 4096
"""So many blocks are looked at in one answer."""

_SIZES = """
SELECT height, LENGTH(raw) FROM platform_app_block WHERE height BETWEEN %s AND %s
ORDER BY height {direction} LIMIT %s
"""
_BLOCKS = """
SELECT height, block_id, parent_id, time, kind, raw FROM platform_app_block
WHERE height BETWEEN %s AND %s ORDER BY height {direction}
"""
_OPTIONS = frozenset(
    {
        BlockKind.APRICOT_ABORT, BlockKind.APRICOT_COMMIT, BlockKind.BANFF_ABORT,
        BlockKind.BANFF_COMMIT,
    }
)  # fmt: skip
_GREATEST = (1 << 63) - 1


class RawBlock(NamedTuple):
    """An accepted block as others are sent it."""

    height: int
    block_id: ID
    parent_id: ID
    time: int
    """Chain time after it, Unix seconds."""
    raw: bytes
    is_option: bool
    """It commits or aborts the proposal before it. The genesis block decides nothing."""


def raw_blocks(chain: PlatformChain, first: int, last: int, max_bytes: int) -> list[RawBlock]:
    """Return the blocks from a height to another, upwards, or downwards where `last` is below `first`.

    They end where the next one's bytes would go beyond `max_bytes` together, after `MOST`, or where
    there are no more. The first one is always there, however large. Two statements.
    """
    low, high = sorted((max(0, min(first, _GREATEST)), max(0, min(last, _GREATEST))))
    direction = "ASC" if first <= last else "DESC"
    sizes = chain.db.rows(_SIZES.format(direction=direction), (low, high, MOST))
    heights = list(_fitting(sizes, max_bytes))
    if not heights:
        return []
    place = (min(heights), max(heights))
    return [
        RawBlock(
            height, ID(bytes(block_id)), ID(bytes(parent_id)), time, bytes(raw),
            is_option=height > 0 and kind in _OPTIONS,
        )
        for height, block_id, parent_id, time, kind, raw in chain.db.rows(
            _BLOCKS.format(direction=direction), place
        )
    ]  # fmt: skip


def _fitting(sizes: Rows, max_bytes: int) -> Iterator[int]:
    """Walk the heights of blocks until the next would be too much."""
    room = max_bytes
    for place, (height, size) in enumerate(sizes):
        room -= size
        if place and room < 0:
            return
        yield height
