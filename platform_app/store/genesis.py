"""The first rows of a network."""

from platform_app import models
from platform_app.blocks.block import Block
from platform_app.state.chain import FeeState
from platform_app.state.changes import StateChanges
from platform_app.store import chain
from platform_app.store.chain import Network


def begin(network: Network, genesis: Block, changes: StateChanges) -> None:
    """Write the first block of a network, which says nothing itself, and its state.

    The transactions of the genesis stand at height 0 in the order of the changes, which come from a
    diff over an empty database. The caller holds the lock and the transaction.
    """
    fees = changes.fee_state or FeeState()
    models.Chain.objects.create(
        **network._asdict(),
        height=genesis.height,
        tip=genesis.block_id,
        timestamp=changes.timestamp or 0,
        gas_capacity=fees.capacity,
        gas_excess=fees.excess,
        stakers_height=genesis.height,
    )
    chain.commit([genesis], changes)
