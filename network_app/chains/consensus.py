"""Who decides on the blocks of a chain of this node, in their outer ones (`chainvm.consensus`)."""

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Generic, TypeVar

from chainvm.consensus import SoleConsensus
from chainvm.port import Block, ChainVM
from network_app.proposervm.vm import NotOurSlot, ProposerBlock, ProposerVM
from primitives.fair_lock import FairLock

B = TypeVar("B", bound=Block)


class OuterConsensus(Generic[B]):
    """This node decides alone on blocks with their outer ones; a `chainvm.consensus.Consensus`.

    It begins when it is first needed: processes that neither make blocks nor follow them read no keys.

    Args:
        vm: The chain.
        wrap: Puts the proposer VM around it. Keys and genesis are there by then.
        building: Counts a block, by its height, as outstanding while it is built and accepted.
        may_produce: Says whether this node makes the chain's blocks, now.
    """

    decides_alone = True

    def __init__(
        self,
        vm: ChainVM[B],
        wrap: Callable[[ChainVM[B]], ProposerVM[B]],
        building: Callable[[int], AbstractContextManager[None]],
        may_produce: Callable[[], bool],
    ) -> None:
        self.vm = vm
        self._wrap = wrap
        self._building = building
        self._may_produce = may_produce
        self._beginning = threading.Lock()
        self._begun: tuple[ProposerVM[B], SoleConsensus[ProposerBlock[B]]] | None = None

    def begin(self) -> tuple[ProposerVM[B], SoleConsensus[ProposerBlock[B]]]:
        """Return the chain behind outer blocks, and who decides on those; made now, unless it was before."""
        with self._beginning:
            if self._begun is None:
                outer = self._wrap(self.vm)
                self._begun = outer, SoleConsensus(outer, self._building, self._may_produce)
            return self._begun

    @property
    def outer(self) -> ProposerVM[B]:
        """The chain behind outer blocks, for whoever holds the lock."""
        return self.begin()[0]

    @property
    def lock(self) -> FairLock:
        """Whoever works on the chain's VM holds it."""
        return self.begin()[1].lock

    def produce(self, *, now: int, allow_empty: bool = False) -> B | None:
        """Build a block, where this node may, and accept it with its outer one; return what is inside."""
        _, sole = self.begin()
        try:
            block = sole.produce(now=now, allow_empty=allow_empty)
        except NotOurSlot:
            return None
        return None if block is None else block.inner

    def produce_line(self, times: Sequence[int]) -> Sequence[B]:
        """Build blocks on each other, with their outer ones, and accept them together; see `SoleConsensus`."""
        _, sole = self.begin()
        return [block.inner for block in sole.produce_line(times)]

    def may_produce(self, height: int, now: int) -> bool:
        """Say whether this node may make the block at a height now (Unix seconds)."""
        del height, now  # one node makes all blocks, at any time
        return self._may_produce()
