"""A chain's last accepted blocks as the event loop knows them, so that queries are answered at once."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence

from chainvm.port import HeadMoved
from chainvm.processing import UnknownParent
from network_app.ports import (
    Accepted,
    AcceptedChain,
    BlockRef,
    InvalidBlock,
    NotYet,
    RunInThread,
)
from network_app.sync.obstacles import Obstacle
from primitives.ids import EMPTY_ID, ID

RECENT = 1024
"""Accepted blocks whose IDs are kept in memory."""


class LastAccepted:
    """The place of the last accepted block, and the one door to `AcceptedChain.accept`."""

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
        """Held while blocks of peers are being accepted."""
        self._recent: OrderedDict[int, ID] = OrderedDict()
        self._told = 1
        self._seen = 0

    @property
    def stale(self) -> bool:
        """Whether blocks may have been made here that nobody has asked about yet."""
        return self._told != self._seen

    def grow_stale(self) -> None:
        """Note that blocks were made here; a question that is open now may not have seen them."""
        self._told += 1

    async def refresh(self) -> BlockRef:
        """Ask the chain where it stands."""
        told = self._told
        known, place = self.place, await self.run(self.chain.last_accepted)
        self._seen = max(self._seen, told)
        if place.block_id != known.block_id and await self._is_gone(known):
            self.place = BlockRef(0, EMPTY_ID)
            self._recent.clear()
        self._move([place])
        return self.place

    async def _is_gone(self, place: BlockRef) -> bool:
        """Say whether a block is accepted no more: on a local network, earlier rows have taken the place of all."""
        if place.block_id == EMPTY_ID:
            return False
        return await self.run(self.chain.height_of, [place.block_id]) == [None]

    async def fresh(self) -> BlockRef:
        """Return the last accepted block, which is only asked for when it may have changed."""
        return await self.refresh() if self.stale else self.place

    async def accept(self, raws: Sequence[bytes]) -> Accepted:
        """Hand blocks to the chain, one call at a time; see `AcceptedChain.accept`, also for what is raised."""
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
        """Note blocks that were made here."""
        self._move(places)

    def at(self, height: int) -> ID | None:
        """Return the accepted block at a height if it is one of the latest."""
        return self._recent.get(height)

    def _move(self, places: Sequence[BlockRef]) -> None:
        for place in places:
            self._recent[place.height] = place.block_id
        while len(self._recent) > RECENT:
            self._recent.popitem(last=False)
        if places[-1].height > self.place.height or self.place.block_id == EMPTY_ID:
            self.place = places[-1]
            self.obstacle.passed(self.place.height)
