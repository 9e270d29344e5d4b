"""What instructions of the specification access (tracing.md 7)."""

from typing import Final

from cchain_app.evm.reference_steps import Step

_MOST_PADDING: Final = 2**20
"""Bytes beyond memory that go-ethereum adds to what is hashed, at most."""


def hashed_bytes(step: Step) -> bytes | None:
    """Return what a KECCAK256 is to hash, also if the gas for it is missing.

    None where go-ethereum records nothing: the stack has too few items, or too much would have to
    be added to memory as it is.
    """
    items, memory = step.last.items, step.evm.memory
    if len(items) < 2:
        return None
    # go-ethereum reads the low 64 bits as signed numbers.
    offset, length = (item % 2**64 for item in items[:2])
    if offset >> 63 or length >> 63 or offset + length - len(memory) > _MOST_PADDING:
        return None
    return bytes(memory[offset : offset + length]).ljust(length, b"\0")
