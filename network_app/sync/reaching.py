"""The way to one block: what is missing below it is fetched in pieces and executed meanwhile (p2p.md 9)."""

import asyncio

from network_app.config import NetworkConfig
from network_app.ports import BlockRef
from network_app.sync.choosing import Choice
from network_app.sync.errors import Forked, NoAgreement
from network_app.sync.executing import Executor
from network_app.sync.fetching import Fetcher
from network_app.sync.frontier import Agreed, Frontier
from network_app.sync.last_accepted import LastAccepted
from network_app.sync.progress import Progress
from primitives.ids import EMPTY_ID

LOOK = 0.1
"""Seconds between looks whether there is room."""


class Reacher:
    """Brings one chain to blocks that the beacons agree on."""

    def __init__(
        self,
        last_accepted: LastAccepted,
        frontier: Frontier,
        fetcher: Fetcher,
        choice: Choice,
        config: NetworkConfig,
        *,
        executor: Executor,
        progress: Progress,
    ) -> None:
        self._last_accepted = last_accepted
        self._frontier = frontier
        self._fetcher = fetcher
        self._choice = choice
        self._config = config
        self._executor = executor
        self._progress = progress
        # What goes on while blocks are executed is fetched in pieces of one answer's size.
        self._piece = max(1, min(config.ancestors_count, config.most_fetched // 2))
        self._unexecuted = 0
        """Pieces that are stored and not executed yet."""

    async def reach(self, found: Agreed) -> None:
        """Fetch and execute all up to a block, both at the same time.

        A proposal is stored with its option, which nobody names here: the way ends before it, and what
        follows comes as any new block.

        Raises:
            RoundFailed: It came to nothing, or not to its end; see the classes below it.
        """
        block = await self._fetcher.block(found.block_id, found.supporters)
        top = BlockRef(block.height, block.block_id)
        if block.needs_option:
            top = BlockRef(block.height - 1, block.parent_id)
        if top.height <= self._last_accepted.place.height:
            (ours,) = await self._last_accepted.run(
                self._last_accepted.chain.accepted_at, [top.height]
            )
            if ours == top.block_id:
                return  # it was accepted meanwhile
            raise Forked(top.height, ours or EMPTY_ID, top.block_id)
        known = 0 if self._last_accepted.following else self._progress.target_height
        self._progress.target_height = max(known, top.height)
        fetched: asyncio.Queue[int | None] = asyncio.Queue()
        self._unexecuted = 0
        fetching = asyncio.create_task(self._fetch(top, found, fetched))
        try:
            while (height := await fetched.get()) is not None:
                await self._executor.execute(height)
                self._unexecuted -= 1
                self._fetcher.forget_sources(self._last_accepted.place.height)
            await fetching
        finally:
            fetching.cancel()
            await asyncio.gather(fetching, return_exceptions=True)

    async def _fetch(
        self, top: BlockRef, found: Agreed, fetched: asyncio.Queue[int | None]
    ) -> None:
        """Fetch piece by piece, upwards; say up to which height all is there, None at the end."""
        low, among = self._last_accepted.place, found.supporters
        try:
            while low.height < top.height:
                while self._executes() and self._waiting_above(low) > self._config.most_fetched:
                    await asyncio.sleep(LOOK)
                goal = await self._goal(low, top, found)
                # Each peer is read at a limited rate, so it is quicker to ask several; validators
                # have what lies deep below the frontier.
                askable = {*among, *self._choice.validators()} if goal != top else among
                await self._fetcher.fill(goal, low, askable, drains=self._executes)
                low = goal
                self._progress.top_fetched = low.height
                self._unexecuted += 1
                fetched.put_nowait(low.height)
        finally:
            fetched.put_nowait(None)

    def _executes(self) -> bool:
        """Say whether pieces are being executed, so that there will be room."""
        return self._unexecuted > 0

    def _waiting_above(self, low: BlockRef) -> int:
        """Return how many blocks wait to be executed when one more piece is fetched."""
        return low.height + self._piece - self._last_accepted.place.height

    async def _goal(self, low: BlockRef, top: BlockRef, way: Agreed) -> BlockRef:
        """Return the block down from which the next piece is fetched.

        Blocks name their parents only, so the beacons are asked for the one at the right height. If they
        name none, and what is missing may be stored, it is fetched as one piece.

        Raises:
            NoAgreement: The beacons name none, and too many blocks are missing.
        """
        gap = top.height - low.height
        if gap <= self._piece:
            return top
        height = low.height + self._piece
        found = await self._frontier.accepted_at(height, low)
        if found is not None:
            able = {*found.supporters, *way.supporters}
            block = await self._fetcher.block(found.block_id, able)
            if block.height == height:
                return BlockRef(height, block.block_id)
        if gap <= self._config.most_fetched:
            return top
        raise NoAgreement(len(self._frontier.beacons().connected))
