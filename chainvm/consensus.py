"""Who decides on the blocks of a chain, as the chain's makers of blocks see it; and the node that decides alone.

A node alone is a network in which one vote decides (`k = 1`): what it builds is verified, accepted and
committed in one step. Where validators vote, a block that was built is processing until they have decided.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Generic, Protocol, TypeVar

from chainvm.port import Block, ChainVM, HeadMoved
from primitives.fair_lock import FairLock
from primitives.ids import ID

B = TypeVar("B", bound=Block)
B_co = TypeVar("B_co", bound=Block, covariant=True)


class Consensus(Protocol[B_co]):
    """Decides on the blocks of one chain."""

    @property
    def lock(self) -> FairLock:
        """The lock of the chain's VM: a thread holds it while it works on the VM."""

    @property
    def decides_alone(self) -> bool:
        """Whether nobody else is asked: a block that `produce` returns is accepted."""

    def produce(self, *, now: int, allow_empty: bool = False) -> B_co | None:
        """Build the next block, where this node may, and see it accepted.

        None when there is nothing to put into one, or when it is not for this node to make or to accept
        it now.

        Args:
            now: The node's time in Unix seconds.
            allow_empty: Build a block without transactions too.
        """

    def produce_line(self, times: Sequence[int]) -> Sequence[B_co]:
        """Build blocks on each other, empty ones too, and see them accepted together, where this node decides.

        Args:
            times: The node's time for each, in Unix seconds.
        """

    def may_produce(self, height: int, now: int) -> bool:
        """Say whether this node may make the block at a height now (Unix seconds)."""


def always() -> bool:
    """Say yes: nobody else makes the chain's blocks."""
    return True


def _nothing(_: ID) -> None:
    """Write nothing beside an accepted block."""


class SoleConsensus(Generic[B]):
    """What this node builds is accepted at once: nobody else is asked. See `Consensus`, which this is.

    Threads share it: whoever works on the chain's VM holds `lock`.

    Args:
        vm: The chain.
        building: Counts a block, by its height, as outstanding while it is built and accepted.
        may_produce: Says whether this node makes the chain's blocks, now.
    """

    decides_alone = True

    def __init__(
        self,
        vm: ChainVM[B],
        building: Callable[[int], AbstractContextManager[None]],
        may_produce: Callable[[], bool] = always,
    ) -> None:
        self.vm = vm
        self.lock = FairLock()
        self._building = building
        self._may_produce = may_produce

    def may_produce(self, height: int, now: int) -> bool:
        """Say whether this node may make the block at a height now (Unix seconds)."""
        del height, now  # one node makes all blocks, at any time
        return self._may_produce()

    def produce(self, *, now: int, allow_empty: bool = False) -> B | None:
        """Build a block on the last accepted one and accept it; of a proposal, with its preferred option.

        Where another process has accepted a block meanwhile it is built anew. Returns the last block.
        """
        if not self._may_produce():
            return None  # before the lock: others may hold it for long
        with self.lock:
            while True:
                last = self.vm.get_block(self.vm.last_accepted())
                assert last is not None
                try:
                    with self._building(last.height + 1):
                        return self._produce(last, now=now, allow_empty=allow_empty)
                except HeadMoved:
                    continue

    def produce_line(self, times: Sequence[int]) -> Sequence[B]:
        """Build blocks on each other, empty ones too, and accept them together; return them.

        Args:
            times: The node's time for each, in Unix seconds.

        Raises:
            HeadMoved: Another process has accepted a block meanwhile: none of them is accepted.
        """
        with self.lock:
            last = self.vm.get_block(self.vm.last_accepted())
            assert last is not None
            with self._building(last.height + 1):
                self.vm.set_preference(last.block_id)
                return self._produce_line(times)

    def _produce_line(self, times: Sequence[int]) -> Sequence[B]:
        line: list[B] = []
        for now in times:
            block = self.vm.build(now=now, allow_empty=True)
            if block is None:
                break  # the chain makes no blocks
            line.append(block)
            self.vm.set_preference(block.block_id)
        if line:
            self.vm.accept([one.block_id for one in line], written=_nothing)
        return line

    def _produce(self, last: B, *, now: int, allow_empty: bool) -> B | None:
        self.vm.set_preference(last.block_id)
        block = self.vm.build(now=now, allow_empty=allow_empty)
        if block is None:
            return None
        decided = [block]
        options = self.vm.options(block)
        if options is not None:
            self.vm.verify(options[0], now=now)
            decided.append(options[0])
        self.vm.accept([one.block_id for one in decided], written=_nothing)
        return decided[-1]
