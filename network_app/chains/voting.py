"""Consensus on the blocks of a chain: by one block producer, or by the votes of the validators.

It wraps the blocks of a chain in outer blocks (`chainvm.consensus`), and is the chain for the voting engine.
"""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Generic, TypeVar

from chaindb import clock
from chaindb.chains import is_left_out
from chaindb.connections import OneThread
from chaindb.events import ChainEvents
from chainvm.consensus import SoleConsensus
from chainvm.port import Block, ChainVM
from network_app import selectors
from network_app.chains.backend import BuildTiming
from network_app.chains.outer_blocks import OuterRows
from network_app.consensus.vm import VotedChain
from network_app.proposervm.block import SignedBlock
from network_app.proposervm.errors import NotOurSlot
from network_app.proposervm.verification import Proposers
from network_app.proposervm.vm import ProposerBlock, ProposerVM
from network_app.proposervm.windower import proposer_at, slot_of
from network_app.services import clock_follows_blocks, move_clock
from primitives.fair_lock import FairLock
from primitives.ids import ID, NodeID

BLOCKS_WAITING = "consensus.waiting"
"""Type of the event that a chain may have transactions for a block."""
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

    def produce_batch(self, times: Sequence[int]) -> Sequence[B]:
        """Build a sequence of blocks with their outer blocks, and accept them together; see `SoleConsensus`."""
        _, sole = self.begin()
        return [block.inner for block in sole.produce_batch(times)]

    def may_produce(self, height: int, now: int) -> bool:
        """Return whether this node may now produce the block at a height (`now` in Unix seconds)."""
        del height, now  # a single node produces all blocks, at any time
        return self._may_produce()


class VotedConsensus(Generic[B]):
    """Consensus by the validators, for block producers: a `chainvm.consensus.Consensus` that only sends events.

    Blocks are built where the votes are counted: in the process that runs the network.

    Args:
        alias: The chain.
        events: This node's event channel, which the network process reads.
        outer: The chain with its outer blocks.
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
        outer: OuterConsensus[B],
        rows: OuterRows,
        proposers: Proposers,
        *,
        chain_id: Callable[[], ID],
        own: Callable[[], NodeID],
    ) -> None:
        self._alias = alias
        self._events = events
        self._outer = outer
        self._rows = rows
        self._proposers = proposers
        self._chain_id = chain_id
        self._own = own

    @property
    def lock(self) -> FairLock:
        """The lock that is required for work on the chain's VM."""
        return self._outer.lock

    def produce(self, *, now: int, allow_empty: bool = False) -> None:
        """Send an event that there may be transactions for a block."""
        del now, allow_empty  # the builder has its own clock and its own rule on empty blocks
        self._events.send(self._alias, {"type": BLOCKS_WAITING})

    def produce_batch(self, times: Sequence[int]) -> Sequence[B]:
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
        consensus: The chain with its outer blocks.
        followed: The node that produces all blocks; None if the validators vote.
    """

    def __init__(self, consensus: OuterConsensus[B], followed: NodeID | None) -> None:
        self._consensus = consensus
        self._followed = followed if clock_follows_blocks() else None
        self._offset = clock.offset()

    def now(self) -> float:
        """Return the node's time in Unix seconds."""
        return time.time() + self._offset

    def verified_at(self, block: ProposerBlock[B]) -> int:
        """Return the time at which a block is verified, Unix seconds."""
        return max(int(self.now()), self._time_of_followed(block))

    def follow(self, block_id: ID) -> None:
        """Move the node's clock to an accepted block's time, in the transaction that stores the block."""
        if self._followed is None:
            return
        block = self._consensus.outer.get_block(block_id)
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
    consensus: OuterConsensus[B],
    rows: OuterRows,
    *,
    timing: BuildTiming,
    followed: NodeID | None,
) -> VotedChain[ProposerBlock[B]]:
    """Return a chain for the engine that votes on it; all its work runs in one thread. Blocking.

    Args:
        alias: The chain.
        chain_id: Its ID.
        consensus: The chain with its outer blocks.
        rows: The outer blocks of its accepted blocks.
        timing: When blocks are built.
        followed: The node that produces all blocks and whose vote alone decides; None if the validators vote.
    """
    thread = OneThread(f"consensus-{alias}", consensus.lock)
    time_of = _FollowedTime(consensus, followed)

    return VotedChain(
        alias,
        chain_id,
        consensus.outer,
        thread.run,
        time_of.now,
        minimum_delay=timing.minimum_delay,
        verified_at=time_of.verified_at,
        proposal=consensus.outer.proposal,
        written=time_of.follow,
        flush=rows.db.flush,
        allow_empty=timing.allow_empty,
        follows=followed is not None,
    )
