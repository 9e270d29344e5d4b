"""A running EVM chain: the objects with which a process builds, verifies and accepts its blocks."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from cchain_app.blocks.candidate import EvmBlock
from cchain_app.chain import EvmChain
from cchain_app.services.vm import EvmVM
from chainvm.consensus import Consensus, SoleConsensus
from primitives.fair_lock import FairLock


@dataclass(slots=True)
class Arrivals:
    """How a process admits the transactions that arrive (`services.transactions`)."""

    mines: bool = False
    """Whether they are mined directly if possible: the process serves requests and may build blocks."""
    alone_from: float = 0.0
    """Time on the monotonic clock, in seconds, from which on transactions may bypass the pool again."""
    lock: FairLock = field(default_factory=FairLock)
    """Held by the thread that admits transactions, in the order of the calls."""


class EvmRuntime:
    """A chain with its virtual machine, its consensus, and the transactions that arrive.

    At first this node decides alone on the chain's blocks; a node of a network calls `decide_by`.

    Args:
        chain: The chain.
    """

    def __init__(self, chain: EvmChain) -> None:
        self.chain = chain
        self.vm = EvmVM(chain)
        """The processing blocks; use it only under the chain's `vm_lock`."""
        self._consensus: Consensus = SoleConsensus[EvmBlock](
            lambda: self.vm, chain.building.count, lock=chain.vm_lock
        )
        self.arrivals = Arrivals()

    @property
    def consensus(self) -> Consensus:
        """Decides on the chain's blocks."""
        return self._consensus

    def decide_by(self, consensus: Consensus) -> None:
        """Let another consensus decide on the chain's blocks from now on."""
        self._consensus = consensus

    def mine_on_arrival(self) -> None:
        """Mine each transaction directly as it arrives, from now on, in a serving process that may build blocks."""
        self.arrivals.mines = True

    @contextmanager
    def only_to_pool(self) -> Iterator[None]:
        """Send all new transactions to the pool while the body runs, because the body makes the blocks.

        The caller holds the chain's `vm_lock`, so other threads cannot mine transactions directly either. The body
        has another lock for admissions, because a thread that holds the old one may wait for `vm_lock`.
        """
        before = self.arrivals
        self.arrivals = Arrivals()
        try:
            yield
        finally:
            self.arrivals = before
