"""A cache of a chain's last accepted blocks on the event loop, for immediate answers to queries."""

import asyncio
import time
from collections.abc import Callable, Sequence

from chainvm.port import HeadMoved
from chainvm.processing import UnknownParent
from network_app.ports import (
    AcceptedChain,
    AcceptResult,
    BlockRef,
    InvalidBlock,
    NotYet,
    RunInThread,
)
from network_app.sync.obstacles import Obstacle
from primitives.bounded_cache import BoundedCache
from primitives.ids import EMPTY_ID, ID

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
        self._told = 1
        self._seen = 0

    @property
    def stale(self) -> bool:
        """Whether blocks may have been built here that this cache has not read yet."""
        return self._told != self._seen

    def grow_stale(self) -> None:
        """Note that blocks were built here; a read that is in progress may have missed them."""
        self._told += 1

    async def refresh(self) -> BlockRef:
        """Read the last accepted block from the chain."""
        reported = self._told
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
            except (HeadMoved, InvalidBlock, NotYet, UnknownParent):
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
