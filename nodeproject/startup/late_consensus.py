"""The consensus on a chain's blocks before a process has created its part in the network."""

from collections.abc import Callable, Sequence

from chaindb.connections import WouldBlock, on_event_loop
from chainvm.consensus import Consensus
from chainvm.port import Block
from primitives.fair_lock import FairLock


class LateConsensus:
    """A placeholder for a `Consensus`, which creates the real one at the first call.

    Each method raises `WouldBlock` on an event loop, because creating the network takes tenths of a second.

    Args:
        find: Creates the network if it does not exist, and returns its consensus on the chain.
    """

    def __init__(self, find: Callable[[], Consensus]) -> None:
        self._find = find

    @property
    def lock(self) -> FairLock:
        """The lock of the chain's VM."""
        return self._found().lock

    @property
    def decides_alone(self) -> bool:
        """Whether this node decides without other validators."""
        return self._found().decides_alone

    def produce(self, *, now: int, allow_empty: bool = False) -> Block | None:
        """Build the next block; see `Consensus.produce`."""
        return self._found().produce(now=now, allow_empty=allow_empty)

    def produce_batch(self, times: Sequence[int]) -> Sequence[Block]:
        """Build a sequence of blocks; see `Consensus.produce_batch`."""
        return self._found().produce_batch(times)

    def may_produce(self, height: int, now: int) -> bool:
        """Return whether this node may build the block at a height now (Unix seconds)."""
        return self._found().may_produce(height, now)

    def _found(self) -> Consensus:
        if on_event_loop():
            raise WouldBlock
        return self._find()
