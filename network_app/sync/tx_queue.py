"""Received transactions: a queue with a fair share of its space for each peer, duplicates, and splitting into messages.

Pure.
"""

import heapq
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from primitives.bounded_cache import BoundedCache
from primitives.hashing import sha256
from primitives.ids import NodeID

MESSAGE_BYTES = 20 * 1024
REMEMBERED = 32_768


class Recently:
    """Hashes of recently received bytes, so that a duplicate costs only its hash.

    Hashes expire soon, because a rejected transaction may become valid and is then pushed again.
    """

    def __init__(self, seconds: float, capacity: int = REMEMBERED) -> None:
        self._seconds = seconds
        self._seen: BoundedCache[bytes, float] = BoundedCache(capacity)

    def __len__(self) -> int:
        return len(self._seen)

    def is_new(self, raw: bytes, now: float) -> bool:
        """Return whether bytes were not received recently, and remember them."""
        digest = sha256(raw)
        since = self._seen.peek(digest)
        if since is not None and now - since < self._seconds:
            return False
        self._seen.put_newest(digest, now)
        return True


def in_messages(raws: Iterable[bytes], size: int = MESSAGE_BYTES) -> Iterator[list[bytes]]:
    """Split transactions into messages of about `size` bytes, with at least one transaction each."""
    message: list[bytes] = []
    remaining = size
    for raw in raws:
        if message and len(raw) > remaining:
            yield message
            message, remaining = [], size
        message.append(raw)
        remaining -= len(raw)
    if message:
        yield message


MOST = 4096
MAX_BYTES = 4 * 1024 * 1024
"""Maximum size of all queued transactions."""
SLACK = 1024
"""Number of outdated heap entries above which the heap is rebuilt."""


class ReceivedTransaction(NamedTuple):
    """A received transaction."""

    raw: bytes
    sender: NodeID


class FairQueue:
    """A queue in which senders take turns. When it is full, the sender with the largest share loses its newest.

    A peer that floods the queue therefore displaces only its own transactions.
    """

    def __init__(self, most: int = MOST, most_bytes: int = MAX_BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._waiting: dict[NodeID, deque[bytes]] = {}
        self._sizes: dict[NodeID, int] = {}
        self._greediest: list[tuple[float, NodeID]] = []
        """A heap of recorded shares by sender, negated; only a sender's last record is valid."""
        self._count = 0
        self.size = 0
        """Size in bytes."""

    def __len__(self) -> int:
        return self._count

    def add(self, raw: bytes, sender: NodeID) -> None:
        """Queue a transaction; this may drop the transaction itself or another one."""
        self._waiting.setdefault(sender, deque()).append(raw)
        self._change(sender, len(raw), 1)
        self._note(sender)
        while self._count > self._most or self.size > self._most_bytes:
            greediest = self._find_greediest()
            self._removed(greediest, self._waiting[greediest].pop())

    def take(self, count: int) -> list[ReceivedTransaction]:
        """Return up to `count` queued transactions, one of each sender in turn."""
        found: list[ReceivedTransaction] = []
        while self._waiting and len(found) < count:
            sender = next(iter(self._waiting))
            own = self._waiting.pop(sender)
            self._waiting[sender] = own  # the sender moves to the end
            raw = own.popleft()
            self._removed(sender, raw)
            found.append(ReceivedTransaction(raw, sender))
        return found

    def _find_greediest(self) -> NodeID:
        """Return the sender with the largest share; the heap avoids a search through all senders."""
        while True:
            noted, sender = self._greediest[0]
            if sender in self._waiting and -noted == self._greed(sender):
                return sender
            heapq.heappop(self._greediest)

    def _note(self, sender: NodeID) -> None:
        heapq.heappush(self._greediest, (-self._greed(sender), sender))
        if len(self._greediest) > 2 * len(self._waiting) + SLACK:
            self._greediest = [(-self._greed(pending), pending) for pending in self._waiting]
            heapq.heapify(self._greediest)

    def _greed(self, sender: NodeID) -> float:
        """Return a sender's share of the queue, by number or by bytes, whichever is larger."""
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
