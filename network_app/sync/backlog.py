"""Fetched blocks that are stored and wait to be executed: so many bytes of them at most."""

import asyncio
from collections.abc import Callable, Sequence

from network_app.config import NetworkConfig
from network_app.ports import ParsedBlock
from network_app.sync.errors import TooMuchFetched
from network_app.sync.head import Head

LOOK = 0.5
"""Seconds between looks whether blocks were executed: each counts all that are stored."""


def stands_still() -> bool:
    """Say that nobody executes what is stored."""
    return False


class Backlog:
    """Stores fetched blocks of one chain, as long as there is room.

    Until they are executed nobody has verified them, and whoever names blocks may have made them up.
    What an earlier run has left stored counts as well.
    """

    def __init__(self, head: Head, config: NetworkConfig) -> None:
        self._head = head
        self._most = config.most_fetched_bytes
        self._size: int | None = None
        """What was stored when it was counted last, and what came since: never less than there is."""

    async def keep(
        self, blocks: Sequence[ParsedBlock], *, drains: Callable[[], bool] = stands_still
    ) -> None:
        """Store blocks; while there is no room wait, if `drains` says that others are being executed.

        Raises:
            TooMuchFetched: There is no room for them.
        """
        size = sum(len(block.raw) for block in blocks)
        while True:
            may_wait = drains()  # before it is counted: the last ones may be executed meanwhile
            if await self._has_room(size):
                break
            if not may_wait:
                raise TooMuchFetched(self._most)
            await asyncio.sleep(LOOK)
        await self._head.run(self._head.chain.keep_fetched, blocks)

    async def _has_room(self, size: int) -> bool:
        """Say whether so many bytes may be added, and reckon that they are."""
        if self._size is None or self._size + size > self._most:
            self._size = await self._head.run(self._head.chain.fetched_bytes)
        if self._size + size > self._most:
            return False
        self._size += size
        return True
