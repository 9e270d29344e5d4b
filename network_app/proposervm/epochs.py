"""Epochs: ranges of blocks that use the same validator set (p2p.md 11.4, ACP-181)."""

from dataclasses import dataclass
from typing import Annotated

from primitives.codec import U64
from primitives.codec_compiler import Number

I64 = Annotated[int, Number("q")]
"""Signed, unlike all other numbers of the linear codec."""

EPOCH_DURATION = 30
"""Seconds on the local network; public networks use five minutes."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """A range of blocks with the same validators; the fields are in the order of the encoding."""

    p_chain_height: U64
    """P-Chain height whose validators are used."""
    number: U64
    start_time: I64
    """Unix seconds."""


NO_EPOCH = Epoch(0, 0, 0)
"""The reference's encoding of a missing epoch."""


def next_epoch(
    parent_time: int,
    parent_height: int,
    parent_epoch: Epoch | None,
    time: int,
    duration: int = EPOCH_DURATION,
    *,
    granite_time: int = 0,
) -> Epoch | None:
    """Return the epoch of an outer block's child; None: it has no epoch.

    The child of a bare block has no epoch either; the caller checks that.

    Args:
        parent_time: Unix seconds, of the outer parent.
        parent_height: The parent's P-Chain height.
        parent_epoch: None if it has no epoch.
        time: Unix seconds, of the child.
        duration: Seconds after which an epoch ends with the next block.
        granite_time: Unix seconds of the activation of epochs.
    """
    if time < granite_time:
        return None
    if parent_epoch is None:
        return Epoch(parent_height, 1, parent_time)
    if parent_time < parent_epoch.start_time + duration:
        return parent_epoch
    return Epoch(parent_height, parent_epoch.number + 1, parent_time)
