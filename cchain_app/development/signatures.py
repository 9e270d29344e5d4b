"""Signatures whose signer was set by hand, as the blocks that follow see them (devnet.md 4). Pure.

Like a change of the state each belongs to the block that it precedes: with what was set before a block, the block
can be executed once more.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from primitives.evm import Address

SIGNATURE_BYTES: Final = 65
"""r, s and v."""
MOST_SIGNATURES: Final = 1000
"""Rows that a chain keeps: all are handed to the engine with each block and call."""


class ImpersonatedSignature(NamedTuple):
    """One signature of which it was said who signed it, whatever that was."""

    number: int
    """Of the first block that it is so in."""
    signature: bytes
    """r, s and v: 65 bytes."""
    signer: Address


def signers_at(
    found: Iterable[ImpersonatedSignature], number: int | None = None
) -> tuple[tuple[bytes, Address], ...]:
    """Return whom ecrecover answers for which signatures, as engines take it.

    Args:
        found: What was set, in order: of a signature the last one holds.
        number: Of the block that is executed; None: as of now.
    """
    held = (one for one in found if number is None or one.number <= number)
    return tuple({one.signature: one.signer for one in held}.items())
