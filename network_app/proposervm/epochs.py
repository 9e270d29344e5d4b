"""Epochs of blocks: stretches in which the same validators are asked (p2p.md 11.4, ACP-181)."""

from dataclasses import dataclass
from typing import Annotated

from primitives.codec import U64
from primitives.codec_compiler import Number

I64 = Annotated[int, Number("q")]
"""Signed, unlike all other numbers of the linear codec."""

DURATION = 30
"""Seconds on the local network; five minutes on the public ones."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """A stretch of blocks with the same validators; the fields stand so on the wire."""

    p_chain_height: U64
    """Whose validators."""
    number: U64
    start_time: I64
    """Unix seconds."""


NO_EPOCH = Epoch(0, 0, 0)
"""How the reference writes that there is none."""


def next_epoch(
    parent_time: int,
    parent_height: int,
    parent_epoch: Epoch | None,
    time: int,
    duration: int = DURATION,
    *,
    granite_time: int = 0,
) -> Epoch | None:
    """Return the epoch of an outer block's child; None: it has none.

    A bare block's child has none either, which is not decided here.

    Args:
        parent_time: Unix seconds, of the outer parent.
        parent_height: The parent's P-Chain height.
        parent_epoch: None where it has none.
        time: The child's, Unix seconds.
        duration: Seconds after which an epoch ends with the next block.
        granite_time: Unix seconds since when there are epochs.
    """
    if time < granite_time:
        return None
    if parent_epoch is None:
        return Epoch(parent_height, 1, parent_time)
    if parent_time < parent_epoch.start_time + duration:
        return parent_epoch
    return Epoch(parent_height, parent_epoch.number + 1, parent_time)
