"""What waits to be told a chain's engine: by whose doing, so that nobody who says much makes others wait."""

import asyncio
from collections import OrderedDict, deque
from typing import NamedTuple

from network_app.consensus.sender import Work
from primitives.ids import NodeID


class Arrival(NamedTuple):
    """Something that the engine is told when its turn comes."""

    work: Work
    until: float | None = None
    """When it is too late, since nobody waits for the answer any more; None: never."""
    done: asyncio.Future[None] | None = None
    """Is done once it is worked off, or came to nothing."""

    def settle(self) -> None:
        """Let whoever waits for it go on."""
        if self.done is not None and not self.done.done():
            self.done.set_result(None)


class MessageQueue:
    """Arrivals in the order of each sender; senders take turns.

    It bounds nothing by itself: a validator's messages are bounded by its connection, a stranger's by the
    budget, answers and failures by the open questions.
    """

    def __init__(self) -> None:
        self._of: OrderedDict[NodeID, deque[Arrival]] = OrderedDict()
        self._filled = asyncio.Event()

    def __len__(self) -> int:
        return sum(map(len, self._of.values()))

    def add(self, sender: NodeID, arrival: Arrival) -> None:
        """Take one in."""
        self._of.setdefault(sender, deque()).append(arrival)
        self._filled.set()

    async def take(self) -> Arrival:
        """Wait for the next one."""
        while not self._of:
            self._filled.clear()
            await self._filled.wait()
        sender, waiting = self._of.popitem(last=False)
        arrival = waiting.popleft()
        if waiting:
            self._of[sender] = waiting
        return arrival

    def clear(self) -> None:
        """Forget all."""
        while self._of:
            _, waiting = self._of.popitem()
            for arrival in waiting:
                arrival.settle()
