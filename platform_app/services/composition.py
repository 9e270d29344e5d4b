"""What a P-Chain is made of above its rows: its VM, and who decides on its blocks."""

from chainvm.consensus import SoleConsensus
from platform_app.chain import PlatformChain
from platform_app.services.vm import PlatformVM


def compose(chain: PlatformChain) -> PlatformChain:
    """Give a chain its VM and let this node decide alone on what it builds; return the chain."""
    vm = PlatformVM(chain)
    chain.vm = vm
    chain.consensus = SoleConsensus(vm, chain.building.count)
    return chain
