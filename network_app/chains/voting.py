"""Chains whose blocks the validators vote on: what their makers of blocks see of it, and what is voted with."""

import time
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from chaindb import clock
from chaindb.chains import Chain
from chaindb.connections import OneThread
from chaindb.pointers import Pointers
from chainvm.port import Block
from network_app import selectors
from network_app.chains.consensus import OuterConsensus
from network_app.chains.outer_blocks import OuterRows
from network_app.consensus.vm import VotedChain
from network_app.proposervm.block import SignedBlock
from network_app.proposervm.verification import Proposers
from network_app.proposervm.vm import ProposerBlock
from network_app.proposervm.windower import proposer_at, slot_of
from network_app.services import clock as network_clock
from network_app.snowman.parameters import Settings as Parameters
from primitives.fair_lock import FairLock
from primitives.ids import ID, NodeID

BLOCKS_WAITING = "consensus.waiting"
"""Type of the message that there may be something to put into a block of a `chain`."""
PLATFORM_DELAY = 1
"""Seconds between blocks of the P-Chain, as in the reference (p2p.md 11.5); the C-Chain's rules have their own."""

B = TypeVar("B", bound=Block)


class Settings(Parameters, Protocol):
    """What voting looks at of the node's settings; see `NodeSettings` for what each one means."""

    @property
    def votes(self) -> bool:
        """Whether the validators decide on blocks."""

    @property
    def mining(self) -> str:
        """When blocks of the C-Chain are made."""

    @property
    def block_interval(self) -> float:
        """Seconds between them where they are made by the clock."""


class VotedConsensus(Generic[B]):
    """The validators decide; a `chainvm.consensus.Consensus` for makers of blocks, who only tell.

    Blocks are built where the votes are: in the process that runs the network.

    Args:
        alias: Of the chain.
        pointers: Of this node: by them the network's process is told.
        outer: The chain in its outer blocks.
        rows: Those of its accepted blocks.
        proposers: Returns who may propose, by P-Chain height.
        chain_id: Returns its ID, once there is a genesis.
        own: Returns this node, once it is initialised.
    """

    decides_alone = False

    def __init__(
        self,
        alias: Chain,
        pointers: Pointers,
        outer: OuterConsensus[B],
        rows: OuterRows,
        proposers: Proposers,
        *,
        chain_id: Callable[[], ID],
        own: Callable[[], NodeID],
    ) -> None:
        self._alias = alias
        self._pointers = pointers
        self._outer = outer
        self._rows = rows
        self._proposers = proposers
        self._chain_id = chain_id
        self._own = own

    @property
    def lock(self) -> FairLock:
        """Whoever works on the chain's VM holds it."""
        return self._outer.lock

    def produce(self, *, now: int, allow_empty: bool = False) -> None:
        """Tell that there may be something to put into a block."""
        del now, allow_empty  # whoever builds has a clock, and knows by it what may be empty
        self._pointers.send(self._alias, {"type": BLOCKS_WAITING, "chain": str(self._alias)})

    def produce_line(self, times: Sequence[int]) -> Sequence[B]:
        """Make none: the validators decide, and none is made by hand."""
        del times
        return ()

    def may_produce(self, height: int, now: int) -> bool:
        """Say whether this node may propose the block at a height now (Unix seconds): its slot has come."""
        if not self._alias.is_here or not selectors.is_bootstrapped(self._alias):
            return False
        parent = self._rows.last()
        if parent.height + 1 != height:
            return False  # the head has moved: whoever asks will look again
        if parent.p_chain_height is None:
            return True
        slot = slot_of(now, parent.time)
        proposers = self._proposers(parent.p_chain_height)
        return proposer_at(self._chain_id(), height, slot, proposers) in {None, self._own()}


class _FollowedTime(Generic[B]):
    """The node's time where blocks are verified and accepted.

    Where the validators vote it is the wall's: nobody moves the clock. Where one node makes all blocks its
    clock may have been moved (staking time travel), and others see that by its blocks.

    Args:
        consensus: The chain in its outer blocks.
        followed: Who makes all blocks; None: the validators vote.
    """

    def __init__(self, consensus: OuterConsensus[B], followed: NodeID | None) -> None:
        self._consensus = consensus
        self._followed = followed if network_clock.follows() else None
        self._offset = clock.offset()

    def now(self) -> float:
        """Return the node's time in Unix seconds."""
        return time.time() + self._offset

    def verified_at(self, block: ProposerBlock[B]) -> int:
        """Return the time at which a block is verified, Unix seconds."""
        return max(int(self.now()), self._told_by(block))

    def follow(self, block_id: ID) -> None:
        """Move the node's clock to an accepted block's time; in the transaction in which it is stored."""
        if self._followed is None:
            return
        block = self._consensus.outer.get_block(block_id)
        told = 0 if block is None else self._told_by(block)
        if told > clock.now():  # by the row, which the other chain may have moved
            network_clock.follow(told)
            self._offset = clock.offset()

    def _told_by(self, block: ProposerBlock[B]) -> int:
        """Return a block's time if it may be by whom this node follows, else 0.

        Its signature is verified later, and nobody signs the first block. Whoever else made one up moves no
        clock: that happens when a block is accepted, which needs the vote of the one that is followed.
        """
        by_it = self._followed is not None and block.proposer in {None, self._followed}
        return block.outer.time if by_it and isinstance(block.outer, SignedBlock) else 0


def voted_chain(
    alias: Chain,
    chain_id: ID,
    consensus: OuterConsensus[B],
    rows: OuterRows,
    *,
    refused: type[Exception],
    node: Settings,
    followed: NodeID | None,
) -> VotedChain[ProposerBlock[B]]:
    """Return a chain for the engine that votes on it; all of it happens in one thread. Blocking.

    By interval each block is made so many seconds after the one before it, with nothing in it too.

    Args:
        alias: Of the chain.
        chain_id: Its ID.
        consensus: The chain in its outer blocks.
        rows: Those of its accepted blocks.
        refused: The class of the reasons for which a block is refused.
        node: When blocks are made.
        followed: Who makes all blocks, whose vote alone decides; None: the validators vote.
    """
    thread = OneThread(f"consensus-{alias}", consensus.lock)
    time_of = _FollowedTime(consensus, followed)
    by_clock = alias is Chain.C and node.mining == "interval"
    delay = PLATFORM_DELAY if alias is Chain.P else 0

    return VotedChain(
        alias,
        chain_id,
        consensus.outer,
        thread.run,
        time_of.now,
        minimum_delay=int(node.block_interval) if by_clock else delay,
        refusals=(refused,),
        verified_at=time_of.verified_at,
        proposal=consensus.outer.proposal,
        written=time_of.follow,
        flush=rows.db.flush,
        allow_empty=by_clock,
        follows=followed is not None,
    )
