"""A queue of the engine's pending work, fair between senders: a busy peer cannot delay the others."""

import asyncio
from collections import OrderedDict, deque
from typing import NamedTuple

from network_app.consensus.sender import Work
from primitives.ids import NodeID


class EngineEvent(NamedTuple):
    """An item of work for the engine."""

    work: Work
    until: float | None = None
    """Deadline after which the sender no longer waits for the answer; None: no deadline."""
    done: asyncio.Future[None] | None = None
    """Completes when the work is finished or dropped."""

    def settle(self) -> None:
        """Complete `done`, so that its waiters continue."""
        if self.done is not None and not self.done.done():
            self.done.set_result(None)


class MessageQueue:
    """A first-in, first-out queue per sender; senders take turns.

    The queue itself has no limits. A validator's messages are limited by its connection, those of other
    peers by the budget, answers and failures by the number of open requests.
    """

    def __init__(self) -> None:
        self._of: OrderedDict[NodeID, deque[EngineEvent]] = OrderedDict()
        self._filled = asyncio.Event()

    def __len__(self) -> int:
        return sum(map(len, self._of.values()))

    def add(self, sender: NodeID, arrival: EngineEvent) -> None:
        """Append an item to the sender's queue."""
        self._of.setdefault(sender, deque()).append(arrival)
        self._filled.set()

    async def take(self) -> EngineEvent:
        """Wait for the next item and return it."""
        while not self._of:
            self._filled.clear()
            await self._filled.wait()
        sender, waiting = self._of.popitem(last=False)
        arrival = waiting.popleft()
        if waiting:
            self._of[sender] = waiting
        return arrival

    def clear(self) -> None:
        """Drop all items and complete their `done`."""
        while self._of:
            _, waiting = self._of.popitem()
            for arrival in waiting:
                arrival.settle()
