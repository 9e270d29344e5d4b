"""Assembles the upper layers of an EVM chain: its VM, its consensus, and how its pool is written."""

from functools import partial

from cchain_app.blocks.evm_block import EvmBlock
from cchain_app.chain import EvmChain
from cchain_app.services import admissions
from cchain_app.services.automine import Automine
from cchain_app.services.vm import EvmVM
from chaindb.group_commit import GroupCommit
from chainvm.consensus import SoleConsensus


def compose(chain: EvmChain) -> EvmChain:
    """Give a chain its VM and a consensus in which this node decides alone on its blocks; return the chain."""
    vm = EvmVM(chain)
    chain.vm = vm
    alone: SoleConsensus[EvmBlock] = SoleConsensus(
        vm, chain.building.count, lock=chain.vm_lock
    )
    chain.consensus = alone
    chain.on_rewinding.append(lambda number: vm.begin_anew() if number < 0 else None)
    chain.admissions = GroupCommit(partial(admissions.admit, chain))
    chain.mine_on_arrival = Automine(chain, vm).begin
    return chain
