"""Writing of the first rows of a network, and of blocks with all their changes, in one step."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from chaindb.database import Database, Row
from platform_app import models
from platform_app.blocks.block import Block
from platform_app.state.chain import Diff
from platform_app.state.facets import FeeState
from platform_app.state.l1_validators import L1Fees, L1Totals
from platform_app.store.facets import (
    Commit,
    FacetRows,
    Moment,
    SubnetRows,
    SupplyRows,
    TxPlace,
    TxRows,
)
from platform_app.store.l1_validators import L1Rows, totals_after
from platform_app.store.stakers import StakerRows
from platform_app.store.utxos import UTXORows
from platform_app.txs.base import Tx, TxStatus
from primitives.ids import ID

FACETS: tuple[type[FacetRows], ...] = (
    TxRows,
    UTXORows,
    StakerRows,
    SubnetRows,
    SupplyRows,
    L1Rows,
)
"""The facets of the state in the order in which a commit writes them."""

_BLOCK = ("height", "block_id", "parent_id", "time", "kind", "tx_count", "raw")
_TIP = (
    "height", "tip", "timestamp", "gas_capacity", "gas_excess", "stakers_height", "l1_excess",
    "l1_accrued_fees", "l1_active", "l1_expiries",
)  # fmt: skip

_CHAIN = """
SELECT genesis_hash, network_id, unit, asset_id, x_chain_id, c_chain_id, height, tip, timestamp,
       gas_capacity, gas_excess, stakers_height, l1_excess, l1_accrued_fees, l1_active, l1_expiries
FROM platform_app_chain
"""

_STAKERS = """
SELECT genesis_hash, stakers_height, COALESCE((SELECT number FROM chaindb_generation), 0)
FROM platform_app_chain
"""
_POSITION = """
SELECT genesis_hash, tip, COALESCE((SELECT number FROM chaindb_generation), 0),
       COALESCE((SELECT "offset" FROM chaindb_clock), 0)
FROM platform_app_chain
"""
_TIME = "SELECT time FROM platform_app_block WHERE height = %s"


class StoredNetwork(NamedTuple):
    """The network that a database holds."""

    genesis_hash: ID
    """SHA-256 of the genesis bytes."""
    network_id: int
    unit: int
    """Smallest units per coin."""
    asset_id: ID
    """The asset of fees and of the Primary Network's stake."""
    x_chain_id: ID
    c_chain_id: ID


class Tip(NamedTuple):
    """The last accepted block and the state values stored with it."""

    height: int
    block_id: ID
    timestamp: int
    """Chain time in Unix seconds."""
    fee_state: FeeState
    stakers_height: int
    """The last block that changed a staker or a validator of an L1."""
    l1s: L1Totals = L1Totals()


def read(db: Database) -> tuple[StoredNetwork, Tip] | None:
    """Return the network and the tip, or None before the genesis."""
    row = db.row(_CHAIN)
    if row is None:
        return None
    genesis_hash, network_id, unit, asset_id, x_chain_id, c_chain_id, *place = row
    network = StoredNetwork(
        ID(bytes(genesis_hash)), network_id, unit, ID(bytes(asset_id)), ID(bytes(x_chain_id)),
        ID(bytes(c_chain_id)),
    )  # fmt: skip
    height, tip, timestamp, capacity, excess, stakers_height, *l1s = place
    fee_state = FeeState(int(capacity), int(excess))
    l1_excess, accrued, active, expiries = (int(value or 0) for value in l1s)
    totals = L1Totals(L1Fees(l1_excess, accrued), active, expiries)
    return network, Tip(height, ID(bytes(tip)), timestamp, fee_state, stakers_height, totals)


def stakers_version(db: Database) -> tuple[bytes, int, int] | None:
    """Return the genesis hash, the last block that changed a staker, and the number of rewinds of the rows.

    None before the genesis.
    """
    row = db.row(_STAKERS)
    return None if row is None else (bytes(row[0]), int(row[1]), int(row[2]))


def position(db: Database) -> tuple[bytes, bytes, int, int] | None:
    """Return the genesis hash, the last block's ID, the number of rewinds, and the clock's offset in seconds.

    None before the genesis. A single statement, so all values are from the same moment.
    """
    row = db.row(_POSITION)
    return None if row is None else (bytes(row[0]), bytes(row[1]), int(row[2]), int(row[3]))


def time_at(db: Database, height: int) -> int:
    """Return chain time in Unix seconds after the accepted block at a height."""
    return int(db.rows(_TIME, (height,))[0][0])


def commit(
    db: Database,
    blocks: Sequence[Block],
    diff: Diff,
    place: tuple[StoredNetwork, Tip] | None = None,
    facets: Sequence[type[FacetRows]] = FACETS,
) -> tuple[StoredNetwork, Tip]:
    """Write accepted blocks, each the child of the one before it, and their combined changes.

    A proposal block is committed together with its option. The state changes with the last block: stakers
    join and leave at its height. The caller holds the lock and the transaction.

    Args:
        db: The chain's database.
        blocks: In order of height.
        diff: Their combined changes.
        place: The result of `read`, if the caller has read it under the lock.
        facets: The facets whose changes are written.

    Returns:
        The new result of `read`.
    """
    place = place or read(db)
    assert place is not None
    network, tip = place
    last = blocks[-1]
    places = dict(_places(blocks, diff.txs.changes()))
    after = _tip_after(tip, last, diff)
    db.insert(models.Block, _BLOCK, (_block_row(block, after.timestamp) for block in blocks))
    moment = Moment(last.height, after.timestamp)
    written = Commit(db, diff, moment, network.asset_id, places)
    for facet in facets:
        facet.write(written)
    db.update(models.Chain, ("genesis_hash",), _TIP, [_tip_row(network, after)])
    return network, after


def _places(
    blocks: Sequence[Block], txs: Sequence[tuple[Tx, TxStatus]]
) -> Iterator[tuple[ID, TxPlace]]:
    """Yield the transactions with their places; those of the genesis are in no block."""
    if blocks[0].height == 0:
        for index, (tx, _) in enumerate(txs):
            yield tx.tx_id, TxPlace(0, index)
    for block in blocks:
        proposal = () if block.proposal is None else (block.proposal,)
        for index, tx in enumerate((*block.txs, *proposal)):
            yield tx.tx_id, TxPlace(block.height, index)


def _block_row(block: Block, time: int) -> Row:
    return (
        block.height, block.block_id, block.parent_id, time if block.time is None else block.time,
        block.TYPE_ID, len(block.txs) + (block.proposal is not None), block.raw,
    )  # fmt: skip


def _tip_after(tip: Tip, last: Block, diff: Diff) -> Tip:
    clock = diff.clock.changes()
    unchanged = not diff.stakers.changes() and diff.l1_validators.changes().are_none
    return Tip(
        height=last.height,
        block_id=last.block_id,
        timestamp=tip.timestamp if clock.timestamp is None else clock.timestamp,
        fee_state=tip.fee_state if clock.fee_state is None else clock.fee_state,
        stakers_height=tip.stakers_height if unchanged else last.height,
        l1s=totals_after(tip.l1s, diff),
    )


def _tip_row(network: StoredNetwork, tip: Tip) -> Row:
    fees = tip.fee_state
    return (
        tip.height, tip.block_id, tip.timestamp, fees.capacity, fees.excess, tip.stakers_height,
        *tip.l1s.fees, tip.l1s.active, tip.l1s.expiries, network.genesis_hash,
    )  # fmt: skip


def begin(db: Database, network: StoredNetwork, genesis: Block, diff: Diff, raw: bytes) -> None:
    """Write the first block of a network, which has no content, its state, and its bytes.

    The transactions of the genesis get height 0 in the order in which they were added to the diff, whose
    parent is an empty database. The caller holds the lock and the transaction.
    """
    fees = diff.clock.fee_state()
    db.objects(models.Chain).create(
        **network._asdict(),
        height=genesis.height,
        tip=genesis.block_id,
        timestamp=diff.clock.timestamp(),
        gas_capacity=fees.capacity,
        gas_excess=fees.excess,
        stakers_height=genesis.height,
    )
    store_genesis_bytes(db, network, raw)
    commit(db, [genesis], diff)


def store_genesis_bytes(db: Database, network: StoredNetwork, raw: bytes) -> None:
    """Store the genesis bytes of a network."""
    db.upsert(models.Genesis, ("genesis_hash", "raw"), [(network.genesis_hash, raw)])


def has_genesis_bytes(db: Database, network: StoredNetwork) -> bool:
    """Return whether the genesis bytes of a network are stored."""
    return db.objects(models.Genesis).filter(genesis_hash=network.genesis_hash).exists()
