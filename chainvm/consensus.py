"""The consensus interface for block producers, and the consensus of a node without other validators.

A single node is a network in which one vote decides (`k = 1`): a block that it builds is verified, accepted
and committed in one step. Where validators vote, a new block is processing until they have decided.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Generic, Protocol, TypeVar

from chainvm.port import Block, BlockContext, ChainVM, HeadMoved
from primitives.fair_lock import FairLock
from primitives.ids import ID

B = TypeVar("B", bound=Block)


class Consensus(Protocol):
    """Decides on the blocks of one chain."""

    @property
    def lock(self) -> FairLock:
        """The lock of the chain's VM: a thread holds it while it works on the VM."""

    @property
    def decides_alone(self) -> bool:
        """Whether this node decides without other validators: a block that `produce` returns is accepted."""

    def produce(self, *, now: int, allow_empty: bool = False) -> Block | None:
        """Build the next block if this node may, and get it accepted; return it as nodes exchange it.

        Return None if there is nothing to put into a block, or if this node may not build or accept one now.

        Args:
            now: The node's time in Unix seconds.
            allow_empty: Also build a block without transactions.
        """

    def produce_batch(self, times: Sequence[int]) -> Sequence[Block]:
        """Build a sequence of blocks, empty ones included, and accept them together.

        Only for a node that decides alone.

        Args:
            times: The node's time for each block, in Unix seconds.
        """

    def may_produce(self, height: int, now: int) -> bool:
        """Return whether this node may build the block at a height now (Unix seconds)."""


def always() -> bool:
    """Return True: this node produces all blocks of the chain."""
    return True


def _nothing(_: ID) -> None:
    """Write nothing in addition to an accepted block."""


class SoleConsensus(Generic[B]):
    """The `Consensus` of a node that decides alone: each block that it builds is accepted immediately.

    Threads share this object; a thread that works on the chain's VM holds `lock`.

    Args:
        vm: Returns the chain. It is called for each block, so the chain may be created on the first call: processes
            that build no blocks then need no keys.
        building: Counts a block, by its height, as outstanding while it is built and accepted.
        may_produce: Returns whether this node produces the chain's blocks now.
        lock: The lock of the chain's VM; None: one of its own.
    """

    decides_alone = True

    def __init__(
        self,
        vm: Callable[[], ChainVM[B]],
        building: Callable[[int], AbstractContextManager[None]],
        may_produce: Callable[[], bool] = always,
        lock: FairLock | None = None,
    ) -> None:
        self._vm = vm
        self.lock = lock or FairLock()
        self._building = building
        self._may_produce = may_produce

    def may_produce(self, height: int, now: int) -> bool:
        """Return whether this node may build the block at a height now (Unix seconds)."""
        del height, now  # one node makes all blocks, at any time
        return self._may_produce()

    def produce(self, *, now: int, allow_empty: bool = False) -> B | None:
        """Build a block on the last accepted block and accept it; a proposal with its preferred option.

        If another process accepts a block in the meantime, build the block again. Return the last accepted
        block, or None if no block was built.
        """
        if not self._may_produce():
            return None  # before taking the lock, which other threads may hold for long
        with self.lock:
            vm = self._vm()
            while True:
                last = vm.get_block(vm.last_accepted())
                assert last is not None
                try:
                    with self._building(last.height + 1):
                        return _produce(vm, last, now=now, allow_empty=allow_empty)
                except HeadMoved:
                    continue

    def produce_batch(self, times: Sequence[int]) -> Sequence[B]:
        """Build a sequence of blocks, empty ones included, accept them together and return them.

        Args:
            times: The node's time for each block, in Unix seconds.

        Raises:
            HeadMoved: Another process has accepted a block in the meantime; none of the blocks is accepted.
        """
        with self.lock:
            vm = self._vm()
            last = vm.get_block(vm.last_accepted())
            assert last is not None
            with self._building(last.height + 1):
                vm.set_preference(last.block_id)
                return _produce_batch(vm, times)


def _produce(vm: ChainVM[B], last: B, *, now: int, allow_empty: bool) -> B | None:
    vm.set_preference(last.block_id)
    context = BlockContext(now)
    block = vm.build(context, allow_empty=allow_empty)
    if block is None:
        return None
    decided = [block]
    options = vm.options(block)
    if options is not None:
        vm.verify(options[0], context)
        decided.append(options[0])
    vm.accept([block.block_id for block in decided], written=_nothing)
    return decided[-1]


def _produce_batch(vm: ChainVM[B], times: Sequence[int]) -> Sequence[B]:
    blocks: list[B] = []
    for now in times:
        block = vm.build(BlockContext(now), allow_empty=True)
        if block is None:
            break  # the chain builds no blocks
        blocks.append(block)
        vm.set_preference(block.block_id)
    if blocks:
        vm.accept([block.block_id for block in blocks], written=_nothing)
    return blocks
