"""Accepted data: blocks and transactions by ID or height."""

from collections.abc import Iterator
from typing import NamedTuple

from chaindb.database import Rows
from primitives.ids import ID
from xchain_app.chain import AvmChain

MAX_BLOCKS = 4096
"""The maximum number of blocks in one result."""

_GREATEST = (1 << 63) - 1
_BLOCK = "SELECT height, block_id, time, raw FROM xchain_app_xblock WHERE "
_BY_HEIGHT = _BLOCK + "height = %s"
_BY_ID = _BLOCK + "block_id = %s"
_TX = 'SELECT raw, height, "index" FROM xchain_app_xtransaction WHERE tx_id = %s'
_RECENT = "SELECT COUNT(*), COALESCE(SUM(tx_count), 0) FROM xchain_app_xblock WHERE time > %s"
_SIZES = """
SELECT height, LENGTH(raw) FROM xchain_app_xblock WHERE height BETWEEN %s AND %s
ORDER BY height {direction} LIMIT %s
"""
_BLOCKS = """
SELECT height, block_id, time, raw FROM xchain_app_xblock
WHERE height BETWEEN %s AND %s ORDER BY height {direction}
"""


class StoredXBlock(NamedTuple):
    """A block as stored in the database."""

    height: int
    block_id: ID
    time: int
    """Unix seconds."""
    raw: bytes


class AcceptedAvmTx(NamedTuple):
    """A transaction as stored in the database."""

    raw: bytes
    height: int
    place: int
    """The index in its block."""


def block_at(chain: AvmChain, height: int) -> StoredXBlock | None:
    """Return the block at a height; None above the tip."""
    return _block(chain, _BY_HEIGHT, height) if height <= _GREATEST else None


def block(chain: AvmChain, block_id: ID) -> StoredXBlock | None:
    """Return the block with this ID, or None if it does not exist."""
    return _block(chain, _BY_ID, block_id)


def tx(chain: AvmChain, tx_id: ID) -> AcceptedAvmTx | None:
    """Return an accepted transaction, or None if it does not exist."""
    row = chain.db.row(_TX, (tx_id,))
    return None if row is None else AcceptedAvmTx(bytes(row[0]), row[1], row[2])


def recent(chain: AvmChain, since: int) -> tuple[int, int]:
    """Return the numbers of blocks and of their transactions since a time in Unix seconds."""
    blocks, transactions = chain.db.rows(_RECENT, (since,))[0]
    return int(blocks), int(transactions)


def raw_blocks(chain: AvmChain, first: int, last: int, max_bytes: int) -> list[StoredXBlock]:
    """Return the blocks between two heights, ascending, or descending if `last` is below `first`.

    The list ends before the total bytes exceed `max_bytes`, after `MAX_BLOCKS` blocks, or at the last
    existing block. The first block is always included, however large. Two statements.
    """
    low, high = sorted((max(0, min(first, _GREATEST)), max(0, min(last, _GREATEST))))
    direction = "ASC" if first <= last else "DESC"
    sizes = chain.db.rows(_SIZES.format(direction=direction), (low, high, MAX_BLOCKS))
    heights = list(_fitting(sizes, max_bytes))
    if not heights:
        return []
    place = (min(heights), max(heights))
    rows = chain.db.rows(_BLOCKS.format(direction=direction), place)
    return [_stored(row) for row in rows]


def _fitting(sizes: Rows, max_bytes: int) -> Iterator[int]:
    """Yield the heights of blocks until the next block would exceed the limit."""
    room = max_bytes
    for place, (height, size) in enumerate(sizes):
        room -= size
        if place and room < 0:
            return
        yield height


def _block(chain: AvmChain, question: str, key: int | ID) -> StoredXBlock | None:
    row = chain.db.row(question, (key,))
    return None if row is None else _stored(row)


def _stored(row: tuple[int, bytes, int, bytes]) -> StoredXBlock:
    height, block_id, time, raw = row
    return StoredXBlock(height, ID(bytes(block_id)), time, bytes(raw))
