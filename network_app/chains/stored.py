"""Outer blocks as their rows have them, and back: the block inside stands in the chain's own rows."""

from network_app.proposervm.block import OuterBlock, SignedBlock, encode_option, encode_signed
from network_app.proposervm.epochs import Epoch
from network_app.proposervm.verification import ParentFacts
from network_app.store.outer import Wrapping
from primitives.ids import ID


def wrapping_of(block: OuterBlock, height: int) -> Wrapping:
    """Return what is stored of an outer block."""
    if not isinstance(block, SignedBlock):
        nothing = (None, None, None, None, None)
        return Wrapping(height, block.outer_id, block.kind, *nothing, None, b"", b"")
    epoch = block.epoch
    return Wrapping(
        height,
        block.outer_id,
        block.kind,
        block.time,
        block.p_chain_height,
        None if epoch is None else epoch.p_chain_height,
        None if epoch is None else epoch.number,
        None if epoch is None else epoch.start_time,
        block.proposer,
        block.signature,
        block.certificate,
    )


def raw_of(wrapping: Wrapping, parent_id: ID, inside: bytes) -> bytes:
    """Return an outer block's bytes, the very ones that were stored."""
    if wrapping.time is None:
        return encode_option(parent_id, inside)
    return encode_signed(
        parent_id,
        wrapping.time,
        wrapping.p_chain_height or 0,
        _epoch(wrapping),
        inside,
        certificate=wrapping.certificate,
        signature=wrapping.signature,
    )


def facts_of(last: Wrapping, timed: Wrapping, inner_id: ID) -> ParentFacts:
    """Return what a child of the last accepted block needs to know of it.

    Args:
        last: The block.
        timed: The same; of an option its proposal, whose times it has.
        inner_id: Of the block inside.
    """
    return ParentFacts(
        last.block_id, inner_id, last.height, timed.time or 0, timed.p_chain_height, _epoch(timed)
    )


def _epoch(wrapping: Wrapping) -> Epoch | None:
    height, number, start = wrapping.epoch_height, wrapping.epoch_number, wrapping.epoch_start
    if height is None or number is None or start is None:
        return None
    return Epoch(height, number, start)
