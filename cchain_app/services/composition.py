"""What an EVM chain is made of above its rows: its VM, and who decides on its blocks."""

from cchain_app.chain import EvmChain
from cchain_app.services.vm import EvmVM
from chainvm.consensus import SoleConsensus


def compose(chain: EvmChain) -> EvmChain:
    """Give a chain its VM and let this node decide alone on what it builds; return the chain."""
    vm = EvmVM(chain)
    chain.vm = vm
    chain.consensus = SoleConsensus(vm, chain.building.count)
    return chain
