"""A running P-Chain: the objects with which a process builds, verifies and accepts its blocks."""

from chainvm.consensus import Consensus, SoleConsensus
from platform_app.blocks.block import Block
from platform_app.chain import PlatformChain
from platform_app.services.vm import OwnTxs, PlatformVM


class PlatformRuntime:
    """A chain with its virtual machine and its consensus.

    At first this node decides alone on the chain's blocks; a node of a network calls `decide_by`.

    Args:
        chain: The chain.
        own: Issues the node's own transactions; None: it has none.
    """

    def __init__(self, chain: PlatformChain, own: OwnTxs | None = None) -> None:
        self.chain = chain
        self.vm = PlatformVM(chain, own)
        """The processing blocks; use it only under the chain's `vm_lock`."""
        self._consensus: Consensus = SoleConsensus[Block](
            lambda: self.vm, chain.building.count, lock=chain.vm_lock
        )

    @property
    def consensus(self) -> Consensus:
        """Decides on the chain's blocks."""
        return self._consensus

    def decide_by(self, consensus: Consensus) -> None:
        """Let another consensus decide on the chain's blocks from now on."""
        self._consensus = consensus
