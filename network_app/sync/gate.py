"""Turns for work that peers cause: a few at a time over all, fewer for each of them."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from primitives.ids import NodeID

AT_ONCE = 4
"""Threads that answer peers."""
AT_ONCE_FOR_ONE = 2


class PeerSlots:
    """A peer that asks a lot waits for itself; it does not make the others wait."""

    def __init__(self, at_once: int = AT_ONCE, for_one: int = AT_ONCE_FOR_ONE) -> None:
        self._all = asyncio.Semaphore(at_once)
        self._for_one = for_one
        self._each: dict[NodeID, asyncio.Semaphore] = {}
        self._users: Counter[NodeID] = Counter()

    def __len__(self) -> int:
        return len(self._each)

    @asynccontextmanager
    async def turn(self, node_id: NodeID) -> AsyncIterator[None]:
        """Wait for a turn, and have it."""
        own = self._each.setdefault(node_id, asyncio.Semaphore(self._for_one))
        self._users[node_id] += 1
        try:
            async with own, self._all:
                yield
        finally:
            self._users[node_id] -= 1
            if not self._users[node_id]:
                del self._users[node_id], self._each[node_id]
