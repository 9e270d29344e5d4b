"""A running X-Chain: the objects with which a process builds, verifies and accepts its blocks."""

from chainvm.consensus import Consensus, SoleConsensus
from xchain_app.blocks.block import AvmBlock
from xchain_app.chain import AvmChain
from xchain_app.services.vm import AvmVM


class AvmRuntime:
    """A chain with its virtual machine and its consensus.

    At first this node decides alone on the chain's blocks; a node of a network calls `decide_by`.

    Args:
        chain: The chain.
    """

    def __init__(self, chain: AvmChain) -> None:
        self.chain = chain
        self.vm = AvmVM(chain)
        """The processing blocks; use it only under the chain's `vm_lock`."""
        self._consensus: Consensus = SoleConsensus[AvmBlock](
            lambda: self.vm, chain.building.count, lock=chain.vm_lock
        )

    @property
    def consensus(self) -> Consensus:
        """Decides on the chain's blocks."""
        return self._consensus

    def decide_by(self, consensus: Consensus) -> None:
        """Let another consensus decide on the chain's blocks from now on."""
        self._consensus = consensus
