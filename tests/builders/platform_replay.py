"""Execution of the P-Chain's stored blocks, from their bytes, on a state in memory.

`remembered()` loads the state from the rows; `replay()` executes the later blocks on a state.
Both must give the same state in the end.
"""

from collections.abc import Callable
from typing import Any

from platform_app import models
from platform_app.apps import platform_chain
from platform_app.blocks.block import Block, CommitBlock, OptionBlock, parse_block
from platform_app.blocks.executor import ProposalOptions, execute_block, verify_child
from platform_app.config import Env
from platform_app.selectors import accepted
from platform_app.state.facets import FeeState
from platform_app.store import rows
from platform_app.store.state import DatabaseState
from platform_app.txs.base import TxStatus
from primitives.hashing import sha256
from primitives.ids import ID, P_CHAIN_ID
from shared_app import models as shared_models
from tests.builders.platform_state import MemoryState

Clock = Callable[[Block], int]
"""Returns the time of the node's clock when a block was built."""


def remembered() -> MemoryState:
    """Return the state in the database as a state in memory."""
    tip = platform_chain().tip()
    state = MemoryState(
        time=tip.timestamp,
        fees=FeeState(tip.fee_state.capacity, tip.fee_state.excess),
        supplies={item.subnet_id: item.amount for item in models.Supply.objects.all()},
    )
    state.fund(*map(_utxo, models.UTXO.objects.all()))
    for row in shared_models.SharedOutput.objects.all():
        if row.destination_chain == P_CHAIN_ID:
            state.share(row.source_chain, _utxo(row))
        else:
            state.utxos.exported.append((row.destination_chain, _utxo(row)))
    state.utxos.rewards = [(row.tx_id, _utxo(row)) for row in models.RewardUTXO.objects.all()]
    database = DatabaseState(platform_chain().db)
    for staker in (*database.stakers.current(), *database.stakers.pending()):
        state.stakers[staker.tx_id] = staker
        state.stakers.delegatee_rewards[staker.tx_id] = database.stakers.delegatee_reward(
            staker.tx_id
        )
        if terms := database.stakers.auto_renewal(staker.tx_id):
            state.stakers.auto_renewals[staker.tx_id] = terms
    for subnet in models.Subnet.objects.all():
        state.subnets.owners[subnet.subnet_id] = rows.owners_of(bytes(subnet.owner))
    for chain in models.Blockchain.objects.all():
        state.subnets.blockchains[chain.blockchain_id] = chain.subnet_id
    for row in models.Tx.objects.all():
        state.txs.accepted[row.tx_id] = (rows.accepted_tx(row.raw), TxStatus(row.status))
    return state


def contents(state: MemoryState) -> dict[str, Any]:
    """Return the contents of a state in an order that does not depend on its history."""
    return {
        "time": state.clock.time,
        "fees": state.clock.fees,
        "supplies": state.supplies,
        "utxos": dict(state.utxos),
        "shared": state.utxos.from_peers,
        "exported": sorted(state.utxos.exported, key=lambda one: one[1].utxo_id),
        "rewards": sorted(state.utxos.rewards, key=lambda one: one[1].utxo_id),
        "stakers": dict(state.stakers),
        "delegatee rewards": {
            tx_id: amount
            for tx_id, amount in state.stakers.delegatee_rewards.items()
            if amount and tx_id in state.stakers
        },
        "auto renewals": {
            tx_id: terms
            for tx_id, terms in state.stakers.auto_renewals.items()
            if tx_id in state.stakers
        },
        "owners": state.subnets.owners,
        "chains": state.subnets.blockchains,
        "txs": {tx_id: (tx.raw, status) for tx_id, (tx, status) in state.txs.accepted.items()},
    }


def replay(state: MemoryState, after: int, clock: Clock | None = None) -> list[Block]:
    """Verify and execute all blocks above a height on a state, and return these blocks."""
    at_first = accepted.block_at(platform_chain(), after)
    assert at_first is not None
    parent, options = parse_block(at_first.raw), None
    blocks = []
    for height in range(after + 1, platform_chain().tip().height + 1):
        block = _stored(height)
        verify_child(block, parent)
        if isinstance(block, OptionBlock):
            assert options is not None
            outcome = options.commit if isinstance(block, CommitBlock) else options.abort
        else:
            outcome = execute_block(block, state, _env(block, clock))
        if isinstance(outcome, ProposalOptions):
            options = outcome
        else:
            state.accept(outcome)
        parent = block
        blocks.append(block)
    assert platform_chain().tip().block_id == parent.block_id
    return blocks


def assert_replays(before: MemoryState, after: int, clock: Clock | None = None) -> list[Block]:
    """Check that the blocks above a height lead from the earlier state to the one in the rows."""
    blocks = replay(before, after, clock)
    assert contents(before) == contents(remembered())
    return blocks


def _stored(height: int) -> Block:
    row = accepted.block_at(platform_chain(), height)
    assert row is not None
    assert row.block_id == ID(sha256(row.raw))
    block = parse_block(row.raw)
    assert block.height == height
    return block


def _env(block: Block, clock: Clock | None) -> Env:
    network = platform_chain().network()
    assert block.time is not None
    now = block.time if clock is None else clock(block)
    return Env(
        platform_chain().config, network.asset_id, now, network.x_chain_id, network.c_chain_id
    )


def _utxo(row: Any) -> Any:
    return rows.utxo_of(row.tx_id, row.output_index, row.asset_id, row.output)
