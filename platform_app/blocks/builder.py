"""Building of the next block on the processing blocks, if one is due (pchain.md 4, block building).

Deterministic: the same parent, state, transactions and clock give the same block.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from platform_app.blocks.block import (
    BanffProposalBlock,
    BanffStandardBlock,
    build_proposal,
    build_standard,
)
from platform_app.blocks.errors import InvalidPlatformBlock, PlatformBlockReason
from platform_app.blocks.executor import Parent, ProposalOptions, charge_gas
from platform_app.blocks.processing import PlatformProcessingBlocks
from platform_app.config import Env
from platform_app.executor.clock import (
    advance_time_to,
    deactivate_poor_validators,
    next_block_time,
)
from platform_app.executor.fees import gas_of_tx
from platform_app.executor.proposal import execute_reward, proposal_for, staker_to_reward
from platform_app.executor.standard import execute
from platform_app.executor.warp import verify_warp_message
from platform_app.state.chain import ChainState, Diff
from platform_app.txs.base import Tx
from platform_app.txs.codec import build as build_tx
from utxo.errors import InvalidTx

MAX_REFUSED = 1024
"""Maximum number of invalid transactions that building one block skips; the next block continues with the rest."""
TXS_SIZE_LIMIT = 128 * 1024
"""Maximum bytes of decision transactions in a block. The mempool accepts no larger transaction."""


@dataclass(frozen=True, slots=True)
class BuiltBlock:
    """The result of building: the block, and the transactions that were dropped."""

    block: BanffStandardBlock | BanffProposalBlock | None
    """None if there is nothing to include."""
    outcome: Diff | ProposalOptions | None
    """The outcome of executing the block, so that it need not be executed again; None without a block."""
    dropped: tuple[tuple[Tx, InvalidTx], ...]
    """Transactions that can no longer be accepted, with the reasons."""


def build_on_preferred(
    blocks: PlatformProcessingBlocks, mempool_txs: Iterable[Tx], env: Env
) -> BuiltBlock:
    """Build a block on the preferred block and make it processing, if there is anything to include.

    Transactions in undecided ancestors are left out. A transaction that is rejected here may be valid on
    another branch; it is invalid for good only if the preferred block is the last accepted one.

    Raises:
        InvalidBlock: The preferred block is a proposal, which only its options can follow.
    """
    preferred = blocks.preference
    state = blocks.effect(preferred)
    if isinstance(state, ProposalOptions):
        raise InvalidPlatformBlock(PlatformBlockReason.NO_PROPOSAL)
    included = {tx.tx_id for block in blocks.branch(preferred) for tx in block.txs}
    candidates = (tx for tx in mempool_txs if tx.tx_id not in included) if included else mempool_txs
    built = build(blocks.preferred_block, state, candidates, env)
    # Building is deterministic: an undecided block that was built before is built again.
    if built.block is not None and built.block.block_id not in blocks:
        assert built.outcome is not None
        blocks.add(built.block, built.outcome)
    return built


def build(parent: Parent, state: ChainState, mempool_txs: Iterable[Tx], env: Env) -> BuiltBlock:
    """Build the block that follows a parent with the given state.

    Transactions are taken in the order given until the next one does not fit. If a change of the staker
    sets is due, a block is built even without transactions. If a staker has to be rewarded, the block is
    a proposal block.

    Unspecified: while the clock is so far behind chain time that the block would be rejected, no
    block is built and transactions wait.
    """
    time = next_block_time(state, env.now, env.config)
    if time > env.now + env.config.synchrony_bound:
        return BuiltBlock(None, None, ())
    diff = Diff(state)
    stakers_changed = advance_time_to(diff, time, env.config)
    txs, dropped = _take(mempool_txs, diff, env)
    charge_gas(txs, diff, env.config)
    stakers_changed |= deactivate_poor_validators(diff, env.config)
    staker = staker_to_reward(diff)
    parent_id, height = parent.block_id, parent.height + 1
    if staker:
        proposal = build_tx(proposal_for(staker, diff), ())
        options = ProposalOptions(diff, diff.copy())
        execute_reward(proposal, *options, env)
        block = build_proposal(
            parent_id=parent_id, height=height, time=time, proposal=proposal, txs=txs
        )
        return BuiltBlock(block, options, dropped)
    if not stakers_changed and not txs:
        return BuiltBlock(None, None, dropped)
    standard = build_standard(parent_id=parent_id, height=height, time=time, txs=txs)
    return BuiltBlock(standard, diff, dropped)


def _is_signed(tx: Tx, state: ChainState, env: Env) -> bool:
    """Return whether a block may contain the transaction; if not, the block of a later epoch may."""
    try:
        verify_warp_message(tx.unsigned, state, env)
    except InvalidTx:
        return False
    return True


def _take(
    mempool_txs: Iterable[Tx], diff: Diff, env: Env
) -> tuple[list[Tx], tuple[tuple[Tx, InvalidTx], ...]]:
    """Execute transactions in the given order until the next one does not fit; return included and rejected ones."""
    taken: list[Tx] = []
    dropped: list[tuple[Tx, InvalidTx]] = []
    room = TXS_SIZE_LIMIT
    capacity = diff.clock.fee_state().capacity if env.config.gas_fees_only else None
    for tx in mempool_txs:
        if len(tx.raw) > room or len(dropped) == MAX_REFUSED:
            break
        try:
            gas = gas_of_tx(tx.unsigned, env.config.gas) or 0
            if capacity is not None and gas > capacity:
                break
            if not _is_signed(tx, diff, env):
                continue
            execute(tx, diff, env)
        except InvalidTx as reason:
            dropped.append((tx, reason))
        else:
            taken.append(tx)
            room -= len(tx.raw)
            capacity = None if capacity is None else capacity - gas
    return taken, tuple(dropped)
