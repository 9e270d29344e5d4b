"""Blocks that came and are not read yet: those of who makes blocks first, whatever others send. Pure."""

from collections import deque
from typing import NamedTuple

from primitives.ids import NodeID

MOST_BLOCKS = 1024
MOST_BYTES = 16 * 1024 * 1024
"""What may wait to be read; more is lost, and fetched later."""
PART = 4
"""Which part of that others may fill than those who make blocks: a fourth."""
AT_ONCE = 64
"""Blocks that are read together; then what was read is accepted."""


class Arrival(NamedTuple):
    """A block as it came."""

    raw: bytes
    sender: NodeID
    from_producer: bool


class _Lane:
    """Arrivals in order, within bounds."""

    def __init__(self, most_blocks: int, most_bytes: int) -> None:
        self._most_blocks = most_blocks
        self._most_bytes = most_bytes
        self._size = 0
        self.arrivals: deque[Arrival] = deque()

    def add(self, arrival: Arrival) -> bool:
        size = self._size + len(arrival.raw)
        if len(self.arrivals) >= self._most_blocks or size > self._most_bytes:
            return False
        self.arrivals.append(arrival)
        self._size = size
        return True

    def take(self) -> Arrival:
        arrival = self.arrivals.popleft()
        self._size -= len(arrival.raw)
        return arrival

    def clear(self) -> None:
        self.arrivals.clear()
        self._size = 0


class Inbox:
    """What one chain's peers sent."""

    def __init__(self) -> None:
        self._others = _Lane(MOST_BLOCKS // PART, MOST_BYTES // PART)
        self._producers = _Lane(MOST_BLOCKS - MOST_BLOCKS // PART, MOST_BYTES - MOST_BYTES // PART)

    def __len__(self) -> int:
        return len(self._producers.arrivals) + len(self._others.arrivals)

    def add(self, arrival: Arrival) -> bool:
        """Take one in; False when there is no room."""
        return (self._producers if arrival.from_producer else self._others).add(arrival)

    def take(self) -> list[Arrival]:
        """Return what is to be read next."""
        found: list[Arrival] = []
        for lane in (self._producers, self._others):
            while lane.arrivals and len(found) < AT_ONCE:
                found.append(lane.take())
        return found

    def clear(self) -> None:
        """Forget all."""
        self._producers.clear()
        self._others.clear()
