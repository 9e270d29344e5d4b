"""Builds the next outer block with its timestamp, P-Chain height and epoch, when its slot allows it (p2p.md 11.3, 11.5)."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from chainvm.port import MILLISECONDS
from network_app.proposervm import windower
from network_app.proposervm.block import SignedBlock, build_signed, build_unsigned
from network_app.proposervm.verification import (
    ParentContext,
    epoch_of_child,
)
from primitives.identity import PrivateKey
from primitives.ids import ID, NodeID
from primitives.upgrades import OWN_NETWORK, UpgradeTimes


class BlockSigner(NamedTuple):
    """The key and certificate that sign blocks of a chain."""

    chain_id: ID
    certificate: bytes
    """DER."""
    key: PrivateKey


def build_child(
    parent: ParentContext,
    inner: bytes,
    *,
    time: int,
    p_chain_height: int,
    signature: BlockSigner | None,
    upgrades: UpgradeTimes = OWN_NETWORK,
) -> SignedBlock:
    """Wrap an inner block whose parent is not a proposal.

    Args:
        parent: The parent block.
        inner: The chain's own block.
        time: Unix seconds; raised to the parent's time if it is earlier.
        p_chain_height: A height that other nodes have reached; raised to the parent's if it is lower.
        signature: Signs for the owner of the slot; None: the slot has no owner. The child of a bare block
            is never signed.
        upgrades: Activation times of the rules.
    """
    time = max(time, parent.time)
    epoch = epoch_of_child(parent, time, upgrades)
    height = max(p_chain_height, parent.p_chain_height or 0)
    if parent.p_chain_height is None or signature is None:
        return build_unsigned(parent.outer_id, time, height, epoch, inner)
    return build_signed(
        parent.outer_id,
        time,
        height,
        epoch,
        inner,
        chain_id=signature.chain_id,
        certificate=signature.certificate,
        key=signature.key,
    )


def unsigned_from(milliseconds: int, builds_from: Callable[[int], int | None]) -> int:
    """Return the time from which any node builds an unsigned block, in Unix milliseconds.

    Such a block has the time of a whole second. If the rules do not allow a block at the beginning of the present
    second, it has to wait for the next one.

    Args:
        milliseconds: A time at which the chain's rules allow a block.
        builds_from: The `ChainVM.builds_from` of the chain.
    """
    begins = milliseconds // MILLISECONDS * MILLISECONDS
    if milliseconds == begins or builds_from(begins) == begins:
        return milliseconds
    return begins + MILLISECONDS


def signed_from(
    milliseconds: int,
    parent: ParentContext,
    chain_id: ID,
    node_id: NodeID,
    proposers: Mapping[NodeID, int],
) -> int | None:
    """Return the time from which a node owns a slot, in Unix milliseconds; None: it owns no slot within the hour.

    Args:
        milliseconds: A time at which the chain's rules allow a block.
        parent: The parent of the new block.
        chain_id: ID of the chain.
        node_id: The node.
        proposers: Weights at the parent's P-Chain height.
    """
    first = windower.slot_of(milliseconds // MILLISECONDS, parent.time)
    slot = windower.next_slot(chain_id, parent.height + 1, node_id, proposers, first=first)
    if slot is None or slot == first:
        return None if slot is None else milliseconds
    return (parent.time + slot * windower.WINDOW_DURATION) * MILLISECONDS
