"""A cache of a chain's last accepted blocks on the event loop, and the obstacle after the last one.

An obstacle stops a chain although its peers answer. There are three: another genesis; a block that the network has
accepted and the rules here reject; or another block at a height at which this node has accepted one. Further requests
do not help, but another version of this node, other settings or other peers may, so the node tries again from time to
time.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from chainvm.errors import InvalidBlock
from chainvm.port import HeadMoved
from network_app.ports import (
    AcceptedChain,
    AcceptResult,
    BlockRef,
    NotYet,
    RunInThread,
)
from primitives.bounded_cache import BoundedCache
from primitives.ids import EMPTY_ID, ID
from primitives.networks import title

_log = logging.getLogger(__name__)


class Support(NamedTuple):
    """How many nodes of a group report that they have accepted a block."""

    who: str
    """Name of the group: "validators"."""
    accepted: int
    of: int
    share: float | None = None
    """Their share of the stake, 0 to 1; None: all nodes have the same weight."""

    @property
    def is_most(self) -> bool:
        """Whether more than half of the group accepted the block, by stake if it has any."""
        return self.share > 0.5 if self.share is not None else 2 * self.accepted > self.of

    @property
    def words(self) -> str:
        """Description of the group."""
        if self.accepted == self.of:
            return (
                f"the only {self.who.removesuffix('s')}"
                if self.of == 1
                else (f"all {self.of} {self.who}")
            )
        stake = "" if self.share is None else f" ({self.share:.2%} of the stake)"
        return f"{self.accepted} of {self.of} {self.who}{stake}"


class RejectedBlock(NamedTuple):
    """A block that the network has accepted and the rules here reject."""

    block_id: ID
    height: int | None
    reason: str
    accepted_by: Support

    def words(self, alias: str) -> str:
        """Return a description."""
        block = self.block_id if self.height is None else self.height
        return (
            f"{self.accepted_by.words} accepted {title(alias)} block {block}, which this node's rules "
            f"refuse: {self.reason}"
        )


class Obstacle:
    """The current obstacle of one chain, if any."""

    def __init__(self, alias: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._alias = alias
        self._clock = clock
        self.words: str | None = None
        """Description of the obstacle for users; None: no obstacle."""
        self.on_change: list[Callable[[], None]] = []
        self._height = 0
        self._until = 0.0
        self._named = 0.0

    @property
    def is_resting(self) -> bool:
        """Whether it is too early to try again."""
        return self.words is not None and self._clock() < self._until

    def stands(self, words: str, height: int, rest: float = 0.0) -> None:
        """Set the obstacle that stops the chain at a height; do not retry for `rest` seconds."""
        self._height, self._until = height, self._clock() + rest
        self.named()
        if words == self.words:
            return
        self.words = words
        _log.error("the %s is stopped at height %d: %s", title(self._alias), height, words)
        self._notify()

    def named(self) -> None:
        """Note that a trusted peer still has blocks beyond the obstacle."""
        self._named = self._clock()

    def lapse(self, seconds: float) -> None:
        """Clear the obstacle if no peer has named a block beyond it for some seconds."""
        if self.words is not None and self._clock() - self._named >= seconds:
            _log.warning("no peer names a missing block of the %s any more", title(self._alias))
            self.gone()

    def passed(self, height: int) -> None:
        """Note that blocks up to a height are accepted."""
        if height > self._height:
            self.gone()

    def gone(self) -> None:
        """Clear the obstacle."""
        if self.words is None:
            return
        self.words = None
        _log.warning("the %s continues", title(self._alias))
        self._notify()

    def _notify(self) -> None:
        for listener in self.on_change:
            listener()


RECENT = 1024
"""Accepted blocks whose IDs are kept in memory."""


class LastAccepted:
    """The last accepted block; all blocks from peers are accepted through `accept` of this class."""

    def __init__(
        self, chain: AcceptedChain, run: RunInThread, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.chain = chain
        self.run = run
        self.place = BlockRef(0, EMPTY_ID)
        self.obstacle = Obstacle(chain.alias, clock)
        self.following = False
        """Whether the chain has reached the frontier and takes part in queries."""
        self.accepting = asyncio.Lock()
        """Held while blocks from peers are being accepted."""
        self._recent: BoundedCache[int, ID] = BoundedCache(RECENT)
        self._changes = 1
        self._seen = 0

    @property
    def stale(self) -> bool:
        """Whether blocks may have been built here that this cache has not read yet."""
        return self._changes != self._seen

    def grow_stale(self) -> None:
        """Note that blocks were built here; a read that is in progress may have missed them."""
        self._changes += 1

    async def refresh(self) -> BlockRef:
        """Read the last accepted block from the chain."""
        reported = self._changes
        known, place = self.place, await self.run(self.chain.last_accepted)
        self._seen = max(self._seen, reported)
        if place.block_id != known.block_id and await self._is_gone(known):
            self.place = BlockRef(0, EMPTY_ID)
            self._recent.clear()
        self._move([place])
        return self.place

    async def _is_gone(self, place: BlockRef) -> bool:
        """Return whether a block is no longer accepted, because a local network was rewound."""
        if place.block_id == EMPTY_ID:
            return False
        return await self.run(self.chain.height_of, [place.block_id]) == [None]

    async def fresh(self) -> BlockRef:
        """Return the last accepted block; read it only if it may have changed."""
        return await self.refresh() if self.stale else self.place

    async def accept(self, raws: Sequence[bytes]) -> AcceptResult:
        """Pass blocks to the chain, one call at a time; see `AcceptedChain.accept`, also for exceptions."""
        async with self.accepting:
            try:
                accepted = await self.run(self.chain.accept, raws)
            except (HeadMoved, InvalidBlock, NotYet):
                await self.refresh()
                raise
            if accepted.places:
                self._move(accepted.places)
            else:
                await self.refresh()
            return accepted

    def advanced(self, places: Sequence[BlockRef]) -> None:
        """Note blocks that were built here."""
        self._move(places)

    def at(self, height: int) -> ID | None:
        """Return the accepted block at a height if it is among the recent ones."""
        return self._recent.peek(height)

    def _move(self, places: Sequence[BlockRef]) -> None:
        for place in places:
            self._recent.put(place.height, place.block_id)
        if places[-1].height > self.place.height or self.place.block_id == EMPTY_ID:
            self.place = places[-1]
            self.obstacle.passed(self.place.height)
