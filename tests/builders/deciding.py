"""Consensus with one deciding node: this one or another, as a test chooses."""

from typing import Any

from chainvm.consensus import SoleConsensus


def deciding(runtime: Any, *, here: bool) -> SoleConsensus[Any]:
    """Return a consensus that a single node decides, for an EVM chain or a P-Chain.

    Args:
        runtime: The chain.
        here: Whether this node produces its blocks.
    """
    return SoleConsensus(
        lambda: runtime.vm, runtime.chain.building.count, lambda: here, runtime.chain.vm_lock
    )
