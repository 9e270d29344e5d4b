"""Accepted data: blocks and transactions by ID or height, as values or bytes, the genesis, the supply."""

from collections.abc import Iterator
from typing import NamedTuple

from chaindb.database import Rows
from chaindb.fields import row_id
from platform_app.chain import PlatformChain
from platform_app.models import BlockKind
from platform_app.txs.base import TxStatus
from primitives.ids import ID, NodeID

_BLOCK = "SELECT height, block_id, time, raw FROM platform_app_block WHERE "
_BY_HEIGHT = _BLOCK + "height = %s"
_BY_ID = _BLOCK + "block_id = %s"
_NEWEST_BEFORE = """
SELECT height FROM platform_app_block WHERE time <= %s ORDER BY time DESC, height DESC LIMIT 1
"""
_TX = 'SELECT raw, status, height, "index" FROM platform_app_tx WHERE tx_id = %s'
_GENESIS = """
SELECT g.raw FROM platform_app_genesis g JOIN platform_app_chain c ON c.genesis_hash = g.genesis_hash
"""
_FIRST_VALIDATOR = "SELECT node_id FROM platform_app_staker WHERE position = %s"
_SUPPLY = "SELECT amount FROM platform_app_supply WHERE subnet_id = %s"

_STATUS = """
SELECT 0 AS rank, status, NULL AS reason FROM platform_app_tx WHERE tx_id = %s
UNION ALL
SELECT 1, 6, NULL FROM platform_app_mempooltx WHERE tx_id = %s
UNION ALL
SELECT 2, 8, reason FROM platform_app_droppedtx WHERE tx_id = %s
ORDER BY rank LIMIT 1
"""
"""A single statement, because between two a block could take the transaction out of the mempool."""


class NoFirstValidator(Exception):
    """The genesis of the chain has no validators."""


class StoredBlock(NamedTuple):
    """A block as stored in the database."""

    height: int
    block_id: ID
    time: int
    """Chain time after the block, in Unix seconds."""
    raw: bytes


class AcceptedTx(NamedTuple):
    """A transaction as stored in the database."""

    raw: bytes
    status: TxStatus
    height: int
    place: int
    """The index in its block."""


class Status(NamedTuple):
    """The status of a transaction."""

    status: TxStatus
    reason: str = ""
    """The reason for which it was dropped."""


def genesis_bytes(chain: PlatformChain) -> bytes | None:
    """Return the genesis bytes of the chain: a node with the same bytes has the same chain.

    None if the chain was created before genesis bytes were stored.
    """
    row = chain.db.row(_GENESIS)
    return None if row is None else bytes(row[0])


def first_validator(chain: PlatformChain) -> NodeID:
    """Return the first validator in the genesis.

    Raises:
        NoFirstValidator: The genesis has no validators, or there is no chain.
    """
    row = chain.db.row(_FIRST_VALIDATOR, (row_id(0, 0),))
    if row is None:
        raise NoFirstValidator
    return NodeID(bytes(row[0]))


def block_at(chain: PlatformChain, height: int) -> StoredBlock | None:
    """Return the block at a height; None above the tip."""
    return _block(chain, _BY_HEIGHT, height) if height < 1 << 63 else None


def block(chain: PlatformChain, block_id: ID) -> StoredBlock | None:
    """Return the block with this ID, or None if it does not exist."""
    return _block(chain, _BY_ID, block_id)


def height_at(chain: PlatformChain, time: int) -> int | None:
    """Return the height of the last block whose time is not after `time`; None if `time` is before all blocks."""
    row = chain.db.row(_NEWEST_BEFORE, (time,))
    return None if row is None else int(row[0])


def tx(chain: PlatformChain, tx_id: ID) -> AcceptedTx | None:
    """Return an accepted transaction, or None if it does not exist."""
    row = chain.db.row(_TX, (tx_id,))
    if row is None:
        return None
    raw, status, height, place = row
    return AcceptedTx(bytes(raw), TxStatus(status), height, place)


def status(chain: PlatformChain, tx_id: ID) -> Status:
    """Return the status of a transaction: accepted, pending, dropped, or unknown."""
    row = chain.db.row(_STATUS, (tx_id,) * 3)
    return Status(TxStatus.UNKNOWN) if row is None else Status(TxStatus(row[1]), row[2] or "")


def supply(chain: PlatformChain, subnet_id: ID) -> int | None:
    """Return the current supply of a subnet's staked asset; None if the subnet mints nothing."""
    row = chain.db.row(_SUPPLY, (subnet_id,))
    return None if row is None else int(row[0])


def _block(chain: PlatformChain, question: str, key: int | ID) -> StoredBlock | None:
    row = chain.db.row(question, (key,))
    if row is None:
        return None
    height, block_id, time, raw = row
    return StoredBlock(height, ID(bytes(block_id)), time, bytes(raw))


MAX_BLOCKS = 4096
"""The maximum number of blocks in one result."""

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


class RawPlatformBlock(NamedTuple):
    """An accepted block as sent to other nodes."""

    height: int
    block_id: ID
    parent_id: ID
    time: int
    """Chain time after the block, in Unix seconds."""
    raw: bytes
    is_option: bool
    """Whether it commits or aborts the proposal before it. The genesis block decides nothing."""


def raw_blocks(
    chain: PlatformChain, first: int, last: int, max_bytes: int
) -> list[RawPlatformBlock]:
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
    return [
        RawPlatformBlock(
            height, ID(bytes(block_id)), ID(bytes(parent_id)), time, bytes(raw),
            is_option=height > 0 and kind in _OPTIONS,
        )
        for height, block_id, parent_id, time, kind, raw in chain.db.rows(
            _BLOCKS.format(direction=direction), place
        )
    ]  # fmt: skip


def _fitting(sizes: Rows, max_bytes: int) -> Iterator[int]:
    """Yield the heights of blocks until the next block would exceed the limit."""
    room = max_bytes
    for place, (height, size) in enumerate(sizes):
        room -= size
        if place and room < 0:
            return
        yield height
