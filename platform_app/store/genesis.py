"""The first rows of a network."""

from chaindb.database import Database
from platform_app import models
from platform_app.blocks.block import Block
from platform_app.state.chain import DiffChanges, FeeState
from platform_app.store import blocks
from platform_app.store.blocks import StoredNetwork


def begin(
    db: Database, network: StoredNetwork, genesis: Block, changes: DiffChanges, raw: bytes
) -> None:
    """Write the first block of a network, which has no content, its state, and its bytes.

    The transactions of the genesis get height 0 in the order of the changes, which come from a
    diff over an empty database. The caller holds the lock and the transaction.
    """
    fees = changes.fee_state or FeeState()
    db.objects(models.Chain).create(
        **network._asdict(),
        height=genesis.height,
        tip=genesis.block_id,
        timestamp=changes.timestamp or 0,
        gas_capacity=fees.capacity,
        gas_excess=fees.excess,
        stakers_height=genesis.height,
    )
    keep_bytes(db, network, raw)
    blocks.commit(db, [genesis], changes)


def keep_bytes(db: Database, network: StoredNetwork, raw: bytes) -> None:
    """Store the genesis bytes of a network."""
    db.upsert(models.Genesis, ("genesis_hash", "raw"), [(network.genesis_hash, raw)])


def has_bytes(db: Database, network: StoredNetwork) -> bool:
    """Return whether the genesis bytes of a network are stored."""
    return db.objects(models.Genesis).filter(genesis_hash=network.genesis_hash).exists()
