"""The first rows of a network."""

from chaindb.database import Database
from platform_app import models
from platform_app.blocks.block import Block
from platform_app.state.diff import Diff
from platform_app.store import blocks
from platform_app.store.blocks import StoredNetwork


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
    keep_bytes(db, network, raw)
    blocks.commit(db, [genesis], diff)


def keep_bytes(db: Database, network: StoredNetwork, raw: bytes) -> None:
    """Store the genesis bytes of a network."""
    db.upsert(models.Genesis, ("genesis_hash", "raw"), [(network.genesis_hash, raw)])


def has_bytes(db: Database, network: StoredNetwork) -> bool:
    """Return whether the genesis bytes of a network are stored."""
    return db.objects(models.Genesis).filter(genesis_hash=network.genesis_hash).exists()
