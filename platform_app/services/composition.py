"""Assembly of a P-Chain above its rows: its VM and its consensus."""

from chainvm.consensus import SoleConsensus
from platform_app.chain import PlatformChain
from platform_app.services.vm import PlatformVM


def compose(chain: PlatformChain) -> PlatformChain:
    """Set a chain's VM and a consensus in which this node alone decides on the blocks it builds; return the chain."""
    vm = PlatformVM(chain)
    chain.vm = vm
    chain.consensus = SoleConsensus(vm, chain.building.count, lock=chain.vm_lock)
    return chain
