"""Execution of blocks: verify a whole block on a diff, or raise (pchain.md 4, 6.3).

A standard block has one outcome, a proposal block has two. Options have no state of their own: one of
the proposal's two outcomes becomes the state when its option is accepted.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol

from platform_app.blocks.block import (
    BanffProposalBlock,
    BanffStandardBlock,
    Block,
    OptionBlock,
    ProposalBlock,
)
from platform_app.blocks.errors import (
    InvalidPlatformBlock,
    PlatformBlockReason,
    PlatformBlockTooEarly,
    unexpected_parent,
)
from platform_app.config import Env, PlatformConfig
from platform_app.executor.clock import (
    advance_time_to,
    deactivate_poor_validators,
    next_staker_change,
)
from platform_app.executor.errors import TxStateReason, moment
from platform_app.executor.fees import consume, gas_of_tx
from platform_app.executor.proposal import execute_reward
from platform_app.executor.standard import execute
from platform_app.executor.warp import verify_warp_message
from platform_app.state.chain import ChainState, Diff
from platform_app.txs.base import Tx
from platform_app.txs.subnets import ImportTx
from primitives.ids import ID
from utxo.errors import InvalidTx


class ProposalOptions(NamedTuple):
    """The two outcomes of a proposal block, each with all changes of the block."""

    commit: Diff
    abort: Diff


class Parent(Protocol):
    """The parent of a block: a block, or the stored ID and height of a block that is not a proposal."""

    @property
    def block_id(self) -> ID:
        """The parent's ID."""

    @property
    def height(self) -> int:
        """The parent's height."""


def verify_child(block: Block, parent: Parent) -> None:
    """Check a block's place after its parent, before it is executed.

    An option that passes is one of the two options of its proposal.

    Raises:
        UnknownParent: It follows another block.
        InvalidBlock: Its height is not its parent's plus 1; it is an option but its parent is
            not a proposal, or the reverse; it is an option without a timestamp; it is an option and
            its time differs from its proposal's.
    """
    if block.parent_id != parent.block_id:
        raise unexpected_parent(block.block_id, parent.block_id, block.parent_id)
    if block.height != parent.height + 1:
        raise InvalidPlatformBlock(
            PlatformBlockReason.WRONG_HEIGHT, expected=parent.height + 1, got=block.height
        )
    if isinstance(block, OptionBlock):
        _verify_option(block, parent)
    elif isinstance(parent, ProposalBlock):
        raise InvalidPlatformBlock(PlatformBlockReason.NO_PROPOSAL)


def _verify_option(option: OptionBlock, parent: Parent) -> None:
    if not isinstance(parent, ProposalBlock):
        raise InvalidPlatformBlock(PlatformBlockReason.NO_PROPOSAL)
    assert parent.time is not None, "a proposal without a time was refused"
    if option.time is None:
        raise InvalidPlatformBlock(
            PlatformBlockReason.APRICOT_AFTER_FORK, timestamp=moment(parent.time)
        )
    if option.time != parent.time:
        raise InvalidPlatformBlock(
            PlatformBlockReason.OPTION_TIME_DIFFERS,
            proposal_time=moment(parent.time),
            option_time=moment(option.time),
        )


def execute_block(block: Block, parent_state: ChainState, env: Env) -> Diff | ProposalOptions:
    """Execute a standard or proposal block on its parent's state; call `verify_child` first.

    Returns:
        The changes of a standard block; both outcomes of a proposal block.

    Raises:
        InvalidBlock: It is an option, which has nothing to execute; it has no timestamp; any
            other rule is broken; the reason says which.
    """
    if isinstance(block, BanffStandardBlock):
        return execute_standard(block, parent_state, env)
    if isinstance(block, BanffProposalBlock):
        return execute_proposal(block, parent_state, env)
    if block.time is None:
        raise InvalidPlatformBlock(
            PlatformBlockReason.APRICOT_AFTER_FORK, timestamp=moment(parent_state.clock.timestamp())
        )
    raise InvalidPlatformBlock(PlatformBlockReason.NO_PROPOSAL)


def execute_standard(block: BanffStandardBlock, parent_state: ChainState, env: Env) -> Diff:
    """Execute a standard block. Raises as `execute_block`."""
    diff = Diff(parent_state)
    _verify_messages(block.txs, diff, env)
    stakers_changed = _advance(block, diff, env)
    _execute_txs(block.txs, diff, env)
    with _whole_block_rule():
        stakers_changed |= deactivate_poor_validators(diff, env.config)
    if not stakers_changed and not block.txs:
        raise InvalidPlatformBlock(PlatformBlockReason.NO_STATE_CHANGES)
    return diff


def execute_proposal(
    block: BanffProposalBlock, parent_state: ChainState, env: Env
) -> ProposalOptions:
    """Execute a proposal block: its decisions, then its proposal. Raises as `execute_block`."""
    commit = Diff(parent_state)
    _verify_messages(block.txs, commit, env)
    _advance(block, commit, env)
    _execute_txs(block.txs, commit, env)
    with _whole_block_rule():
        deactivate_poor_validators(commit, env.config)
    abort = commit.copy()
    assert block.proposal is not None
    try:
        execute_reward(block.proposal, commit, abort, env)
    except InvalidTx as reason:
        raise InvalidPlatformBlock(
            PlatformBlockReason.REFUSED_PROPOSAL, tx_id=block.proposal.tx_id, cause=reason
        ) from reason
    return ProposalOptions(commit, abort)


def charge_gas(txs: Iterable[Tx], diff: Diff, config: PlatformConfig) -> None:
    """Subtract a block's gas from the capacity; the excess changes the price of later blocks.

    Unspecified: where static fees are accepted too (gaps.md 2), a block may use more than the capacity. Kinds of
    transactions without a dynamic fee use no gas.

    Raises:
        InvalidTx: The gas exceeds the capacity.
    """
    gas = sum(gas_of_tx(tx.unsigned, config.gas) or 0 for tx in txs)
    diff.clock.set_fee_state(consume(diff.clock.fee_state(), gas, strict=config.gas_fees_only))


def imports_of(tx: Tx) -> frozenset[ID]:
    """Return the IDs of the outputs that a transaction imports from another chain."""
    if not isinstance(tx.unsigned, ImportTx):
        return frozenset()
    return frozenset(spent.utxo_id for spent in tx.unsigned.imported_inputs)


def _advance(block: Block, diff: Diff, env: Env) -> bool:
    """Check the block's time and advance to it; return whether the staker sets changed."""
    assert block.time is not None
    if block.time < diff.clock.timestamp():
        raise InvalidPlatformBlock(
            PlatformBlockReason.TIME_BEFORE_CHAIN,
            time=moment(block.time),
            chain_time=moment(diff.clock.timestamp()),
        )
    if block.time > env.now + env.config.synchrony_bound:
        raise InvalidPlatformBlock(
            PlatformBlockReason.TIME_TOO_FAR_AHEAD, time=moment(block.time), now=moment(env.now)
        )
    change = next_staker_change(diff, env.config, limit=block.time)
    if block.time > change:
        raise InvalidPlatformBlock(
            PlatformBlockReason.TIME_AFTER_STAKER_CHANGE,
            time=moment(block.time),
            change=moment(change),
        )
    with _whole_block_rule():
        return advance_time_to(diff, block.time, env.config)


@contextmanager
def _whole_block_rule() -> Iterator[None]:
    try:
        yield
    except InvalidTx as reason:
        raise InvalidPlatformBlock(PlatformBlockReason.BROKEN_RULE, cause=reason) from reason


def _verify_messages(txs: Iterable[Tx], state: ChainState, env: Env) -> None:
    with _whole_block_rule():
        for tx in txs:
            verify_warp_message(tx.unsigned, state, env)


def _execute_txs(txs: Sequence[Tx], diff: Diff, env: Env) -> None:
    # The gas is checked before and charged after: all transactions pay the price before them.
    charged = Diff(diff)
    with _whole_block_rule():
        charge_gas(txs, charged, env.config)
    imported: set[ID] = set()
    for tx in txs:
        imports = imports_of(tx)
        if not imported.isdisjoint(imports):
            raise InvalidPlatformBlock(PlatformBlockReason.CONFLICTING_TXS)
        imported |= imports
        try:
            execute(tx, diff, env)
        except InvalidTx as reason:
            waits = reason.reason is TxStateReason.SHARED_UTXO_MISSING
            kind = PlatformBlockTooEarly if waits else InvalidPlatformBlock
            raise kind(PlatformBlockReason.REFUSED_TX, tx_id=tx.tx_id, cause=reason) from reason
    diff.clock.set_fee_state(charged.clock.fee_state())
