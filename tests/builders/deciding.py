"""Who decides on a chain's blocks, where a test says so: this node alone, or another one."""

from typing import Any

from chainvm.consensus import SoleConsensus


def deciding(chain: Any, *, here: bool) -> SoleConsensus[Any]:
    """Return who decides alone on the blocks of an EVM chain or a P-Chain.

    Args:
        chain: The chain.
        here: Whether this node makes its blocks.
    """
    return SoleConsensus(chain.vm, chain.building.count, lambda: here)
