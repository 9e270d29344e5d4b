"""Executes fetched blocks by height, and reads the next ones at the same time (p2p.md 9, step 4)."""

import asyncio
from collections.abc import Callable

from chainvm.port import HeadMoved
from chainvm.processing import UnknownParent
from network_app.config import NetworkConfig
from network_app.ports import (
    AcceptResult,
    BlockRef,
    InvalidBlock,
    NotYet,
)
from network_app.sync.errors import BlockRefused, Stuck
from network_app.sync.last_accepted import LastAccepted

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
            BlockRefused: A block is invalid. The blocks before it are accepted.
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
        except InvalidBlock as error:
            if error.height is None or error.height > self._last_accepted.place.height:
                raise BlockRefused(error) from error
        except (HeadMoved, NotYet, UnknownParent) as error:
            if self._last_accepted.place.height == before.height:
                raise Stuck(before.height, str(error)) from error
        else:
            self._on_accept(before, accepted)

    async def _forget(self) -> None:
        self._forgotten = self._last_accepted.place.height
        await self._last_accepted.run(self._last_accepted.chain.forget_fetched, self._forgotten)
