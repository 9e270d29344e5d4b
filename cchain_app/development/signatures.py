"""Signatures whose signer was set manually, as seen by the blocks that follow (devnet.md 4). Pure.

Like a change of the state, each belongs to the block that it precedes: a block can be executed again with the
signers that were set before it.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from primitives.evm import Address

SIGNATURE_BYTES: Final = 65
"""r, s and v."""
MAX_SIGNATURES: Final = 1000
"""Limit of the rows of a chain, because all of them are passed to the engine with each block and call."""


class ImpersonatedSignature(NamedTuple):
    """A signature with the address that ecrecover returns for it, regardless of the real signer."""

    number: int
    """The first block to which it applies."""
    signature: bytes
    """r, s and v: 65 bytes."""
    signer: Address


def signers_at(
    found: Iterable[ImpersonatedSignature], number: int | None = None
) -> tuple[tuple[bytes, Address], ...]:
    """Return pairs of a signature and the signer that ecrecover returns for it, in the form that engines take.

    Args:
        found: The impersonated signatures, in order; the last entry of a signature applies.
        number: The block that is executed; None: use all entries.
    """
    held = (other for other in found if number is None or other.number <= number)
    return tuple({item.signature: item.signer for item in held}.items())
