"""Checks whether an outer block may follow its parent (p2p.md 11.2). The chain verifies the inner block.

The first outer block follows the bare genesis block. Its slot has no owner and it must be unsigned.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from network_app.proposervm import epochs, windower
from network_app.proposervm.block import OuterBlock, OuterOptionBlock, SignedBlock
from network_app.proposervm.epochs import Epoch
from network_app.proposervm.errors import (
    OuterBlockError,
    OuterBlockReason,
    OuterBlockTooEarly,
)
from network_app.proposervm.layout import header, verify_signature
from primitives.ids import ID, NodeID
from primitives.upgrades import OWN_NETWORK, UpgradeTimes

MAX_SKEW = 10
"""Seconds by which a block's time may be ahead of the clock."""

Proposers: TypeAlias = Callable[[int], Mapping[NodeID, int]]
"""The weights of the validators that may propose, by P-Chain height."""


@dataclass(frozen=True, slots=True)
class InnerContext:
    """The facts about an inner block that its bytes contain."""

    block_id: ID
    parent_id: ID
    height: int
    options: tuple[ID, ...] = ()
    """The only blocks that may follow a proposal, which generates them itself."""


@dataclass(frozen=True, slots=True)
class ParentContext:
    """The facts about a parent that its child is verified against; see `of_genesis` and `follow`."""

    outer_id: ID
    inner_id: ID
    height: int
    time: int
    """Unix seconds; an option has the proposal's time, P-Chain height and epoch."""
    p_chain_height: int | None
    """None for a bare block."""
    epoch: Epoch | None = None
    options: tuple[ID, ...] = ()
    """Inner IDs of the only blocks that may follow a proposal."""


def of_genesis(block_id: ID, time: int, height: int = 0) -> ParentContext:
    """Return the facts about the bare genesis block that the first outer block is verified against.

    On a development chain that is a fork, that block has a height other than 0.
    """
    return ParentContext(block_id, block_id, height, time, None)


def follow(parent: ParentContext, block: OuterBlock, inner: InnerContext) -> ParentContext:
    """Return the facts about a block for verifying its child; an option keeps its parent's time."""
    facts = replace(
        parent,
        outer_id=block.outer_id,
        inner_id=inner.block_id,
        height=inner.height,
        options=inner.options,
    )
    if isinstance(block, SignedBlock):
        return replace(
            facts, time=block.time, p_chain_height=block.p_chain_height, epoch=block.epoch
        )
    return facts


def verify_child(
    block: OuterBlock,
    parent: ParentContext,
    *,
    inner: InnerContext,
    chain_id: ID,
    now: float,
    p_height: int,
    bootstrapping: bool,
    proposers: Proposers,
    upgrades: UpgradeTimes = OWN_NETWORK,
) -> None:
    """Verify that a block may follow its parent.

    Args:
        block: The block, as `parse` returned it.
        parent: The parent block.
        inner: The facts about the inner block.
        chain_id: ID of the chain, which signatures cover.
        now: Unix seconds.
        p_height: Height of the last accepted P-Chain block.
        bootstrapping: The block is historical: its proposer, epoch and P-Chain height are not verified,
            and `proposers` is not called.
        proposers: Called for the validators at the parent's P-Chain height.
        upgrades: Activation times of the rules.

    Rules that a block breaks permanently come first, so OuterBlockTooEarly means that those rules are kept.

    Raises:
        OuterBlockError: The block is invalid; OuterBlockTooEarly: it may become valid later.
        Overflow: The validators' weights have more than 64 bits.
    """
    _verify_link(block, inner, parent)
    if isinstance(block, OuterOptionBlock):
        _verify_option(inner, parent)
    elif isinstance(block, SignedBlock):
        _verify_order(block, parent)
        if not bootstrapping:
            _verify_epoch(block, parent, upgrades)
            _verify_proposer(
                block,
                parent,
                chain_id=chain_id,
                height=inner.height,
                proposers=proposers,
                upgrades=upgrades,
            )
        _verify_signature(block, parent, chain_id)
        _verify_reached(block, now, None if bootstrapping else p_height)


def _verify_link(block: OuterBlock, inner: InnerContext, parent: ParentContext) -> None:
    if block.parent_id != parent.outer_id:
        raise OuterBlockError(
            OuterBlockReason.WRONG_PARENT, actual=block.parent_id, expected=parent.outer_id
        )
    if inner.parent_id != parent.inner_id:
        raise OuterBlockError(
            OuterBlockReason.WRONG_INNER_PARENT, actual=inner.parent_id, expected=parent.inner_id
        )
    if inner.height != parent.height + 1:
        raise OuterBlockError(
            OuterBlockReason.WRONG_INNER_HEIGHT, actual=inner.height, expected=parent.height + 1
        )


def _verify_option(inner: InnerContext, parent: ParentContext) -> None:
    if not parent.options:
        raise OuterBlockError(OuterBlockReason.PROPOSAL_EXPECTED)
    if inner.block_id not in parent.options:
        raise OuterBlockError(OuterBlockReason.NOT_AN_OPTION)


def _verify_order(block: SignedBlock, parent: ParentContext) -> None:
    if parent.options:
        raise OuterBlockError(OuterBlockReason.OPTION_EXPECTED)
    if parent.p_chain_height is not None and block.p_chain_height < parent.p_chain_height:
        raise OuterBlockError(
            OuterBlockReason.HEIGHT_DECREASED,
            height=block.p_chain_height,
            parent_height=parent.p_chain_height,
        )
    if block.time < parent.time:
        raise OuterBlockError(
            OuterBlockReason.TIME_DECREASED, time=block.time, parent_time=parent.time
        )


def _verify_reached(block: SignedBlock, now: float, p_height: int | None) -> None:
    if block.time > now + MAX_SKEW:
        raise OuterBlockTooEarly(
            OuterBlockReason.TIME_TOO_ADVANCED, time=block.time, latest=now + MAX_SKEW
        )
    if p_height is not None and block.p_chain_height > p_height:
        raise OuterBlockTooEarly(
            OuterBlockReason.HEIGHT_NOT_REACHED, height=block.p_chain_height, current=p_height
        )


def _verify_epoch(block: SignedBlock, parent: ParentContext, upgrades: UpgradeTimes) -> None:
    expected = epoch_of_child(parent, block.time, upgrades)
    if block.epoch != expected:
        raise OuterBlockError(OuterBlockReason.WRONG_EPOCH, actual=block.epoch, expected=expected)


def epoch_of_child(parent: ParentContext, time: int, upgrades: UpgradeTimes) -> Epoch | None:
    """Return the epoch of a child with the timestamp `time` (Unix seconds)."""
    if parent.p_chain_height is None:
        return None
    return epochs.next_epoch(
        parent.time,
        parent.p_chain_height,
        parent.epoch,
        time,
        upgrades.granite_epoch_duration,
        granite_time=upgrades.granite,
    )


def inner_p_chain_height(
    parent: ParentContext,
    time: int,
    p_chain_height: int,
    epoch: Epoch | None,
    upgrades: UpgradeTimes,
) -> int | None:
    """Return the P-Chain height with which a child's inner block is built and verified (p2p.md 11.4).

    Unspecified: None for the child of a bare block, as in avalanchego.

    Args:
        parent: The parent block, which is not a proposal.
        time: The child's time in Unix seconds.
        p_chain_height: The P-Chain height that the child names.
        epoch: The child's epoch.
        upgrades: Activation times of the rules.
    """
    if parent.p_chain_height is None:
        return None
    if epoch is not None:  # since Granite
        return epoch.p_chain_height
    return p_chain_height if time >= upgrades.etna else parent.p_chain_height


def inner_height_of(
    block: OuterBlock | None, parent: ParentContext, upgrades: UpgradeTimes
) -> int | None:
    """Return `inner_p_chain_height` of a block; None for an option, as in avalanchego, and for a bare block."""
    if not isinstance(block, SignedBlock):
        return None
    return inner_p_chain_height(parent, block.time, block.p_chain_height, block.epoch, upgrades)


def _verify_proposer(
    block: SignedBlock,
    parent: ParentContext,
    *,
    chain_id: ID,
    height: int,
    proposers: Proposers,
    upgrades: UpgradeTimes,
) -> None:
    if parent.p_chain_height is None:
        return
    validators = proposers(parent.p_chain_height)
    if parent.time < upgrades.durango:
        signed = _signed_before_durango(block, parent, height, chain_id, validators)
    else:
        signed = _signed_in_slot(block, parent, height, chain_id, validators)
    if signed is not (block.proposer is not None):
        raise OuterBlockError(
            OuterBlockReason.PROPOSER_MISMATCH, expected="signed" if signed else "unsigned"
        )


def _signed_in_slot(
    block: SignedBlock,
    parent: ParentContext,
    height: int,
    chain_id: ID,
    validators: Mapping[NodeID, int],
) -> bool:
    """Return whether the block must be signed; if so, its proposer is the slot's owner."""
    slot = windower.slot_of(block.time, parent.time)
    owner = windower.proposer_at(chain_id, height, slot, validators)
    if owner is not None and block.proposer != owner:
        raise OuterBlockError(OuterBlockReason.UNEXPECTED_PROPOSER, slot=slot, expected=owner)
    return owner is not None


def _signed_before_durango(
    block: SignedBlock,
    parent: ParentContext,
    height: int,
    chain_id: ID,
    validators: Mapping[NodeID, int],
) -> bool:
    """Return whether the block must be signed, after checking that its proposer has waited long enough."""
    delay = block.time - parent.time
    owners = windower.window_owners(chain_id, height, validators)
    minimum = windower.minimum_delay(owners, block.proposer)
    if delay < minimum:
        raise OuterBlockError(OuterBlockReason.WINDOW_NOT_STARTED, delay=delay, minimum=minimum)
    return delay < windower.MAX_BUILD_WINDOWS * windower.WINDOW_DURATION


def _verify_signature(block: SignedBlock, parent: ParentContext, chain_id: ID) -> None:
    if block.proposer is None:
        return
    if parent.p_chain_height is None:
        raise OuterBlockError(OuterBlockReason.SIGNED_TOO_EARLY, proposer=block.proposer)
    message = header(chain_id, block.parent_id, block.outer_id)
    verify_signature(block.certificate, message, block.signature)
