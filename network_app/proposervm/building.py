"""The next outer block: its time, P-Chain height and epoch (p2p.md 11.5)."""

from typing import NamedTuple

from network_app.proposervm.block import SignedBlock, build_signed, build_unsigned
from network_app.proposervm.verification import (
    ALL_ACTIVE,
    ParentFacts,
    Upgrades,
    epoch_of_child,
)
from primitives.certificate_keys import PrivateKey
from primitives.ids import ID


class Signature(NamedTuple):
    """With what a block is signed."""

    chain_id: ID
    certificate: bytes
    """DER."""
    key: PrivateKey


def build_child(
    parent: ParentFacts,
    inner: bytes,
    *,
    time: int,
    p_chain_height: int,
    signature: Signature | None,
    upgrades: Upgrades = ALL_ACTIVE,
) -> SignedBlock:
    """Wrap a block that follows a parent which is no proposal.

    Args:
        parent: The last block before it.
        inner: The chain's own block.
        time: Unix seconds; the parent's is taken where it is later.
        p_chain_height: One that others know by now; the parent's is taken where it is higher.
        signature: Whoever owns the slot signs; None: the schedule names nobody. The child of a bare block
            is nobody's in any case.
        upgrades: Which rules hold.
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
