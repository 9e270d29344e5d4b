"""What was accepted: blocks and transactions by their names, the genesis, the supply."""

from typing import NamedTuple

from chaindb.rowid import row_id
from platform_app.chain import PlatformChain
from platform_app.txs.status import TxStatus
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
"""One statement: between two, a block could take the transaction out of the mempool."""


class NoFirstValidator(Exception):
    """The chain began without validators."""


class AcceptedBlock(NamedTuple):
    """A block as it stands in the database."""

    height: int
    block_id: ID
    time: int
    """Chain time after it, Unix seconds."""
    raw: bytes


class AcceptedTx(NamedTuple):
    """A transaction as it stands in the database."""

    raw: bytes
    status: TxStatus
    height: int
    place: int
    """In its block."""


class Status(NamedTuple):
    """Where a transaction is in its life."""

    status: TxStatus
    reason: str = ""
    """Why it was dropped."""


def genesis_bytes(chain: PlatformChain) -> bytes | None:
    """Return what the chain began with: a node that has the same bytes has the same chain.

    None where the chain began before they were kept.
    """
    row = chain.db.row(_GENESIS)
    return None if row is None else bytes(row[0])


def first_validator(chain: PlatformChain) -> NodeID:
    """Return the first validator in the genesis.

    Raises:
        NoFirstValidator: The chain began without validators, or there is none.
    """
    row = chain.db.row(_FIRST_VALIDATOR, (row_id(0, 0),))
    if row is None:
        raise NoFirstValidator
    return NodeID(bytes(row[0]))


def block_at(chain: PlatformChain, height: int) -> AcceptedBlock | None:
    """Return the block at a height, or None above the tip."""
    return _block(chain, _BY_HEIGHT, height) if height < 1 << 63 else None


def block(chain: PlatformChain, block_id: ID) -> AcceptedBlock | None:
    """Return the block with this ID, or None when there is none."""
    return _block(chain, _BY_ID, block_id)


def height_at(chain: PlatformChain, time: int) -> int | None:
    """Return the height of the last block whose time is not after `time`, or None before all."""
    row = chain.db.row(_NEWEST_BEFORE, (time,))
    return None if row is None else int(row[0])


def tx(chain: PlatformChain, tx_id: ID) -> AcceptedTx | None:
    """Return an accepted transaction, or None when there is none."""
    row = chain.db.row(_TX, (tx_id,))
    if row is None:
        return None
    raw, status, height, place = row
    return AcceptedTx(bytes(raw), TxStatus(status), height, place)


def status(chain: PlatformChain, tx_id: ID) -> Status:
    """Return where a transaction is: accepted, waiting, dropped, or unknown."""
    row = chain.db.row(_STATUS, (tx_id,) * 3)
    return Status(TxStatus.UNKNOWN) if row is None else Status(TxStatus(row[1]), row[2] or "")


def supply(chain: PlatformChain, subnet_id: ID) -> int | None:
    """Return the current supply of a subnet's staked asset; None where nothing is minted."""
    row = chain.db.row(_SUPPLY, (subnet_id,))
    return None if row is None else int(row[0])


def _block(chain: PlatformChain, question: str, key: int | ID) -> AcceptedBlock | None:
    row = chain.db.row(question, (key,))
    if row is None:
        return None
    height, block_id, time, raw = row
    return AcceptedBlock(height, ID(bytes(block_id)), time, bytes(raw))
