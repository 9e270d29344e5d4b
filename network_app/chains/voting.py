"""A chain for the engine that counts votes, and consensus by these votes for the chain's block producers.

If one node produces all blocks, `chainvm.consensus.SoleConsensus` decides on the blocks of the same `DeferredVM`.
"""

import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

from chaindb import clock
from chaindb.chains import is_left_out
from chaindb.connections import OneThread
from chaindb.events import ChainEvents
from chainvm.port import Block, ChainVM
from network_app import selectors
from network_app.chains.backend import BuildTiming
from network_app.chains.outer_blocks import OuterRows
from network_app.proposervm.block import SignedBlock
from network_app.proposervm.verification import Proposers
from network_app.proposervm.vm import ProposerBlock, ProposerVM
from network_app.proposervm.windower import proposer_at, slot_of
from network_app.services import clock_follows_blocks, move_clock
from primitives.fair_lock import FairLock
from primitives.ids import ID, NodeID

if TYPE_CHECKING:  # imported with the connections
    from network_app.consensus.vm import VotedChain

BLOCKS_WAITING = "consensus.waiting"
"""Type of the event that a chain may have transactions for a block."""
B = TypeVar("B", bound=Block)


class DeferredVM(Generic[B]):
    """A chain's VM, and the proposer VM around it, which is created on first use. Threads share it.

    Processes that neither build nor follow blocks never create it, and so read no keys.

    Args:
        inner: The chain.
        wrap: Returns the chain in its proposer VM. Keys and genesis exist when it is called.
        lock: The lock that is required for work on both.
    """

    def __init__(
        self, inner: ChainVM[B], wrap: Callable[[ChainVM[B]], ProposerVM[B]], lock: FairLock
    ) -> None:
        self.inner = inner
        self.lock = lock
        self._wrap = wrap
        self._creating = threading.Lock()
        self._outer: ProposerVM[B] | None = None

    def get(self) -> ProposerVM[B]:
        """Return the chain in its proposer VM."""
        with self._creating:
            if self._outer is None:
                self._outer = self._wrap(self.inner)
            return self._outer


class VotedConsensus:
    """Consensus by the validators, for block producers: a `chainvm.consensus.Consensus` that only sends events.

    Blocks are built where the votes are counted: in the process that runs the network.

    Args:
        alias: The chain.
        events: This node's event channel, which the network process reads.
        lock: The lock of the chain's VM.
        rows: The outer blocks of its accepted blocks.
        proposers: Returns the proposers by P-Chain height.
        chain_id: Returns the chain's ID, once there is a genesis.
        own: Returns this node's ID, once the node is initialised.
    """

    decides_alone = False

    def __init__(
        self,
        alias: str,
        events: ChainEvents,
        lock: FairLock,
        rows: OuterRows,
        proposers: Proposers,
        *,
        chain_id: Callable[[], ID],
        own: Callable[[], NodeID],
    ) -> None:
        self._alias = alias
        self._events = events
        self.lock = lock
        self._rows = rows
        self._proposers = proposers
        self._chain_id = chain_id
        self._own = own

    def produce(self, *, now: int, allow_empty: bool = False) -> None:
        """Send an event that there may be transactions for a block."""
        del now, allow_empty  # the builder has its own clock and its own rule on empty blocks
        self._events.send(self._alias, {"type": BLOCKS_WAITING})

    def produce_batch(self, times: Sequence[int]) -> Sequence[Block]:
        """Build nothing: the validators decide, so there is no manual mining."""
        del times
        return ()

    def may_produce(self, height: int, now: int) -> bool:
        """Return whether it is this node's slot to propose the block at a height (`now` in Unix seconds)."""
        if is_left_out(self._alias) or not selectors.is_bootstrapped(self._alias):
            return False
        parent = self._rows.last()
        if parent.height + 1 != height:
            return False  # the head has moved: the caller will check again
        if parent.p_chain_height is None:
            return True
        slot = slot_of(now, parent.time)
        proposers = self._proposers(parent.p_chain_height)
        return proposer_at(self._chain_id(), height, slot, proposers) in {None, self._own()}


class _FollowedTime(Generic[B]):
    """The node's time for the verification and acceptance of blocks.

    If the validators vote, it is the wall clock, which cannot be moved. If a single node produces all blocks,
    its clock may have been moved (staking time travel), and its followers learn that from its blocks.

    Args:
        vm: The chain with its outer blocks.
        followed: The node that produces all blocks; None if the validators vote.
    """

    def __init__(self, vm: ProposerVM[B], followed: NodeID | None) -> None:
        self._vm = vm
        self._followed = followed if clock_follows_blocks() else None
        self._offset = clock.offset()

    def now(self) -> float:
        """Return the node's time in Unix seconds."""
        return time.time() + self._offset

    def verified_at(self, block: ProposerBlock[B]) -> float:
        """Return the time at which a block is verified, Unix seconds."""
        return max(self.now(), self._time_of_followed(block))

    def follow(self, block_id: ID) -> None:
        """Move the node's clock to an accepted block's time, in the transaction that stores the block."""
        if self._followed is None:
            return
        block = self._vm.get_block(block_id)
        block_time = 0 if block is None else self._time_of_followed(block)
        if block_time > clock.now():  # the stored clock, which the other chain may have moved
            move_clock(block_time)
            self._offset = clock.offset()

    def _time_of_followed(self, block: ProposerBlock[B]) -> int:
        """Return a block's time if the block may be from the followed node, else 0.

        The signature is verified later, and the first block has none. A block that another node made up moves no
        clock, because the clock moves only when a block is accepted, which needs the followed node's vote.
        """
        by_it = self._followed is not None and block.proposer in {None, self._followed}
        return block.outer.time if by_it and isinstance(block.outer, SignedBlock) else 0


def voted_chain(
    alias: str,
    chain_id: ID,
    vm: DeferredVM[B],
    rows: OuterRows,
    *,
    timing: BuildTiming,
    followed: NodeID | None,
) -> "VotedChain[ProposerBlock[B]]":
    """Return a chain for the engine that votes on it; all its work runs in one thread. Blocking.

    Args:
        alias: The chain.
        chain_id: Its ID.
        vm: The chain with its outer blocks.
        rows: The outer blocks of its accepted blocks.
        timing: When blocks are built.
        followed: The node that produces all blocks and whose vote alone decides; None if the validators vote.
    """
    from network_app.consensus.vm import VotedChain

    thread = OneThread(f"consensus-{alias}", vm.lock)
    outer = vm.get()
    time_of = _FollowedTime(outer, followed)

    return VotedChain(
        alias,
        chain_id,
        outer,
        thread.run,
        time_of.now,
        minimum_delay=timing.minimum_delay,
        verified_at=time_of.verified_at,
        proposal=outer.proposal,
        written=time_of.follow,
        flush=rows.db.flush,
        allow_empty=timing.allow_empty,
        follows=followed is not None,
    )
