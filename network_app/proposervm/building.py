"""Builds the next outer block with its timestamp, P-Chain height and epoch (p2p.md 11.5)."""

from typing import NamedTuple

from network_app.proposervm.block import SignedBlock, build_signed, build_unsigned
from network_app.proposervm.verification import (
    ParentContext,
    epoch_of_child,
)
from primitives.identity import PrivateKey
from primitives.ids import ID
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
