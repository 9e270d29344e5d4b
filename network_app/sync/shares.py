"""Transactions that came and wait to be taken in: each peer has its share of the room. Pure."""

import heapq
from collections import deque
from typing import NamedTuple

from primitives.ids import NodeID

MOST = 4096
MOST_BYTES = 4 * 1024 * 1024
"""What may wait altogether."""
SLACK = 1024
"""Notes of shares that have changed since, above which they are thrown away."""


class Arrival(NamedTuple):
    """A transaction that came."""

    raw: bytes
    sender: NodeID


class FairQueue:
    """Taken by turns of the senders. When it is full, whoever has most in it loses its newest.

    So a peer that floods the queue makes room for the others, and waits for itself.
    """

    def __init__(self, most: int = MOST, most_bytes: int = MOST_BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._waiting: dict[NodeID, deque[bytes]] = {}
        self._sizes: dict[NodeID, int] = {}
        self._greediest: list[tuple[float, NodeID]] = []
        """A heap of what was noted of each sender's share, negative; its last note is right."""
        self._count = 0
        self.size = 0
        """Bytes."""

    def __len__(self) -> int:
        return self._count

    def add(self, raw: bytes, sender: NodeID) -> None:
        """Let a transaction wait; it may be lost at once, or make another one be lost."""
        self._waiting.setdefault(sender, deque()).append(raw)
        self._change(sender, len(raw), 1)
        self._note(sender)
        while self._count > self._most or self.size > self._most_bytes:
            greediest = self._find_greediest()
            self._removed(greediest, self._waiting[greediest].pop())

    def take(self, count: int) -> list[Arrival]:
        """Return what waits, one of each sender, then the next of each, and so on."""
        found: list[Arrival] = []
        while self._waiting and len(found) < count:
            sender = next(iter(self._waiting))
            own = self._waiting.pop(sender)
            self._waiting[sender] = own  # its next turn comes after the others'
            raw = own.popleft()
            self._removed(sender, raw)
            found.append(Arrival(raw, sender))
        return found

    def _find_greediest(self) -> NodeID:
        """Return who has most: looking through all senders each time would take long in a flood."""
        while True:
            noted, sender = self._greediest[0]
            if sender in self._waiting and -noted == self._greed(sender):
                return sender
            heapq.heappop(self._greediest)

    def _note(self, sender: NodeID) -> None:
        heapq.heappush(self._greediest, (-self._greed(sender), sender))
        if len(self._greediest) > 2 * len(self._waiting) + SLACK:
            self._greediest = [(-self._greed(one), one) for one in self._waiting]
            heapq.heapify(self._greediest)

    def _greed(self, sender: NodeID) -> float:
        """Return which part of the room a sender has, by number or by bytes."""
        return max(len(self._waiting[sender]) / self._most, self._sizes[sender] / self._most_bytes)

    def _removed(self, sender: NodeID, raw: bytes) -> None:
        self._change(sender, -len(raw), -1)
        if not self._waiting[sender]:
            del self._waiting[sender], self._sizes[sender]
        else:
            self._note(sender)

    def _change(self, sender: NodeID, size: int, count: int) -> None:
        self._sizes[sender] = self._sizes.get(sender, 0) + size
        self.size += size
        self._count += count
