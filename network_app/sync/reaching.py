"""Fetches the ancestors of one block in pieces, and executes them by height at the same time (p2p.md 9, step 4)."""

import asyncio
from collections.abc import Callable

from chainvm.errors import UnknownParent
from chainvm.port import HeadMoved
from network_app.config import NetworkConfig
from network_app.ports import AcceptResult, BlockRef, BlockRejection, NotYet
from network_app.sync.choosing import PeerSelection
from network_app.sync.errors import Forked, InvalidFetchedBlock, NoAgreement, Stuck
from network_app.sync.fetching import Fetcher
from network_app.sync.frontier import Frontier, FrontierResult
from network_app.sync.last_accepted import LastAccepted
from network_app.sync.progress import BootstrapProgress
from primitives.ids import EMPTY_ID

BATCH_BYTES = 8 * 1024 * 1024
"""Approximate maximum size of the blocks of a batch."""
FORGET_AFTER = 512
"""Executed blocks that may stay stored, because deleting them costs a transaction."""
MIN_BATCH = 3
"""A proposal, its option, and the next signed block."""


class FetchedBlockExecutor:
    """Passes fetched blocks of one chain to `AcceptedChain.accept`, in batches committed together.

    `on_accept` is called after each batch with the last accepted block before it. It is called on the event
    loop, before any other code sees the new last accepted block.
    """

    def __init__(
        self,
        last_accepted: LastAccepted,
        config: NetworkConfig,
        on_accept: Callable[[BlockRef, AcceptResult], None],
    ) -> None:
        self._last_accepted = last_accepted
        self._config = config
        self._on_accept = on_accept
        self._count = config.execute_batch
        self._forgotten = 0

    async def execute(self, up_to: int) -> None:
        """Execute all stored blocks up to a height.

        Raises:
            InvalidFetchedBlock: A block is invalid. The blocks before it are accepted.
            Stuck: The blocks cannot be verified yet, or some are missing.
        """
        above = self._last_accepted.place.height
        batch = await self._read(above, up_to)
        while batch:
            ahead = asyncio.ensure_future(self._read(above + len(batch), up_to))
            try:
                await self._accept(batch)
                above += len(batch)
                batch = await ahead
            finally:
                ahead.cancel()
            if (
                self._last_accepted.place.height < above
            ):  # a proposal waits for its option in the next batch
                above = self._last_accepted.place.height
                batch = await self._read(above, up_to)
            if self._last_accepted.place.height >= self._forgotten + FORGET_AFTER:
                await self._forget()
        await self._forget()

    async def _read(self, above: int, up_to: int) -> list[bytes]:
        count = min(self._count, up_to - above)
        if count <= 0:
            return []
        raws = await self._last_accepted.run(self._last_accepted.chain.fetched, above, count)
        if raws:
            mean = sum(map(len, raws)) // len(raws)
            self._count = min(
                self._config.execute_batch, max(MIN_BATCH, BATCH_BYTES // max(1, mean))
            )
        return raws

    async def _accept(self, batch: list[bytes]) -> None:
        before = self._last_accepted.place
        try:
            accepted = await self._last_accepted.accept(batch)
        except BlockRejection as error:
            if error.height is None or error.height > self._last_accepted.place.height:
                raise InvalidFetchedBlock(error) from error
        except (HeadMoved, NotYet, UnknownParent) as error:
            if self._last_accepted.place.height == before.height:
                raise Stuck(before.height, str(error)) from error
        else:
            self._on_accept(before, accepted)

    async def _forget(self) -> None:
        self._forgotten = self._last_accepted.place.height
        await self._last_accepted.run(self._last_accepted.chain.forget_fetched, self._forgotten)


LOOK = 0.1
"""Seconds between checks whether more blocks may be fetched."""


class Reacher:
    """Brings one chain to the blocks that the beacons agree on."""

    def __init__(
        self,
        last_accepted: LastAccepted,
        frontier: Frontier,
        fetcher: Fetcher,
        choice: PeerSelection,
        config: NetworkConfig,
        *,
        executor: FetchedBlockExecutor,
        progress: BootstrapProgress,
    ) -> None:
        self._last_accepted = last_accepted
        self._frontier = frontier
        self._fetcher = fetcher
        self._choice = choice
        self._config = config
        self._executor = executor
        self._progress = progress
        # Blocks that are fetched during execution come in pieces the size of one answer.
        self._piece = max(1, min(config.ancestors_count, config.most_fetched // 2))
        self._unexecuted = 0
        """Number of pieces that are stored and not executed yet."""

    async def reach(self, found: FrontierResult) -> None:
        """Fetch and execute all blocks up to a block, both at the same time.

        A proposal is stored with its option, whose ID is not known here. So bootstrapping ends before the
        proposal, and later blocks arrive like any new block.

        Raises:
            RoundFailed: It failed, or did not reach the block; see its subclasses.
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
                return  # it has been accepted in the meantime
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
        self, top: BlockRef, found: FrontierResult, fetched: asyncio.Queue[int | None]
    ) -> None:
        """Fetch upwards in pieces; put the height after each piece into the queue, None at the end."""
        low, among = self._last_accepted.place, found.supporters
        try:
            while low.height < top.height:
                while self._executes() and self._waiting_above(low) > self._config.most_fetched:
                    await asyncio.sleep(LOOK)
                goal = await self._goal(low, top, found)
                # Answers of each peer are read at a limited rate, so asking several is faster;
                # validators have the blocks far below the frontier.
                askable = {*among, *self._choice.validators()} if goal != top else among
                await self._fetcher.fill(goal, low, askable, drains=self._executes)
                low = goal
                self._progress.top_fetched = low.height
                self._unexecuted += 1
                fetched.put_nowait(low.height)
        finally:
            fetched.put_nowait(None)

    def _executes(self) -> bool:
        """Return whether pieces are being executed, so that space will become available."""
        return self._unexecuted > 0

    def _waiting_above(self, low: BlockRef) -> int:
        """Return the number of blocks awaiting execution if one more piece is fetched."""
        return low.height + self._piece - self._last_accepted.place.height

    async def _goal(self, low: BlockRef, top: BlockRef, way: FrontierResult) -> BlockRef:
        """Return the block from which the next piece is fetched downwards.

        Blocks name only their parents, so the beacons are asked for the block at the right height. If they
        do not agree on a block, and all missing blocks may be stored, those are fetched as one piece.

        Raises:
            NoAgreement: The beacons do not agree, and too many blocks are missing.
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
