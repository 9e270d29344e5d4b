"""Consensus on the blocks of a chain, which wraps them in outer blocks (`chainvm.consensus`)."""

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Generic, TypeVar

from chainvm.consensus import SoleConsensus
from chainvm.port import Block, ChainVM
from network_app.proposervm.errors import NotOurSlot
from network_app.proposervm.vm import ProposerBlock, ProposerVM
from primitives.fair_lock import FairLock

B = TypeVar("B", bound=Block)


class OuterConsensus(Generic[B]):
    """Consensus of a single node on a chain with outer blocks; a `chainvm.consensus.Consensus`.

    It is created on first use, so that processes that neither build nor follow blocks read no keys.

    Args:
        vm: The chain.
        wrap: Wraps it in the proposer VM. Keys and genesis exist when it is called.
        building: Counts a block, by its height, as outstanding while it is built and accepted.
        may_produce: Returns whether this node currently produces the chain's blocks.
        lock: The lock that is required for work on the chain's VM.
    """

    decides_alone = True

    def __init__(
        self,
        vm: ChainVM[B],
        wrap: Callable[[ChainVM[B]], ProposerVM[B]],
        building: Callable[[int], AbstractContextManager[None]],
        may_produce: Callable[[], bool],
        lock: FairLock,
    ) -> None:
        self.vm = vm
        self._wrap = wrap
        self._building = building
        self._may_produce = may_produce
        self.lock = lock
        self._beginning = threading.Lock()
        self._begun: tuple[ProposerVM[B], SoleConsensus[ProposerBlock[B]]] | None = None

    def begin(self) -> tuple[ProposerVM[B], SoleConsensus[ProposerBlock[B]]]:
        """Return the chain in its proposer VM, and the consensus on it; create both on the first call."""
        with self._beginning:
            if self._begun is None:
                outer = self._wrap(self.vm)
                self._begun = (
                    outer,
                    SoleConsensus(outer, self._building, self._may_produce, self.lock),
                )
            return self._begun

    @property
    def outer(self) -> ProposerVM[B]:
        """The chain in its proposer VM; the caller must hold the lock."""
        return self.begin()[0]

    def produce(self, *, now: int, allow_empty: bool = False) -> B | None:
        """Build a block, if this node may, accept it with its outer block, and return the inner block."""
        _, sole = self.begin()
        try:
            block = sole.produce(now=now, allow_empty=allow_empty)
        except NotOurSlot:
            return None
        return None if block is None else block.inner

    def produce_line(self, times: Sequence[int]) -> Sequence[B]:
        """Build a sequence of blocks with their outer blocks, and accept them together; see `SoleConsensus`."""
        _, sole = self.begin()
        return [block.inner for block in sole.produce_line(times)]

    def may_produce(self, height: int, now: int) -> bool:
        """Return whether this node may now produce the block at a height (`now` in Unix seconds)."""
        del height, now  # a single node produces all blocks, at any time
        return self._may_produce()
