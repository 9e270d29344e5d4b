"""The memory that the requests of a process may hold together, and what waits to be sent to its sockets.

Requests are bodies that are read, decoded, answered: what does not fit is refused as overload. Small
bodies are not counted: what they need is bounded by the number of connections. For what waits to be
sent it is too late to refuse anything: who reads slowest is closed.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from jsonrpc.errors import Overloaded

SMALL: Final = 16_384
"""Bytes of a body that nobody counts."""

_PART_TO_FREE: Final = 8
"""One part in so many is free again after slow readers were closed: they are not looked for with every message."""


@dataclass(frozen=True, slots=True)
class MemoryLimits:
    """Bytes of all bodies together, and of those of one client; as many may wait to be sent."""

    most: int = 128 * 1024 * 1024
    of_client: int = 40 * 1024 * 1024


class RequestMemory:
    """What bodies hold now, by client. Belongs to the event loop's thread."""

    def __init__(self, limits: MemoryLimits = MemoryLimits()) -> None:
        self._limits = limits
        self._of: dict[str, int] = {}
        self.held = 0
        """Bytes in all."""
        self.unread = UnreadMemory(limits)
        """What waits to be sent: a bound of its own, so that who does not read keeps no request out."""

    def take(self, client: str, size: int) -> None:
        """Count bytes of a client.

        Raises:
            Overloaded: they do not fit; nothing is counted.
        """
        own = self._of.get(client, 0) + size
        if own > self._limits.of_client or self.held + size > self._limits.most:
            raise Overloaded
        self._of[client] = own
        self.held += size

    def give_back(self, client: str, size: int) -> None:
        """Count them no longer."""
        own = self._of.pop(client) - size
        if own:
            self._of[client] = own
        self.held -= size


class Share:
    """What one body holds of the memory; given back once it is answered."""

    __slots__ = ("_client", "_client_of", "_memory", "_size")

    def __init__(self, memory: RequestMemory, client: Callable[[], str]) -> None:
        self._memory = memory
        self._client_of = client  # asked only for what is not small
        self._client = ""
        self._size = 0

    def grow(self, size: int) -> None:
        """Hold so many bytes, if they are more than before.

        Raises:
            Overloaded: they do not fit.
        """
        if size > SMALL and size > self._size:
            self._client = self._client or self._client_of()
            self._memory.take(self._client, size - self._size)
            self._size = size

    def give_back(self) -> None:
        """Hold nothing any more."""
        if self._size:
            self._memory.give_back(self._client, self._size)
            self._size = 0


class Reader(Protocol):
    """A connection for whose peer something waits."""

    def shed(self) -> int:
        """Let go of what waits, for the sake of all the others.

        Returns how many bytes could not be let go of; asked again, it lets go of those as well.
        """


class _Readers:
    """What waits for each of some readers."""

    __slots__ = ("held", "of")

    def __init__(self) -> None:
        self.of: dict[Reader, int] = {}
        self.held = 0

    def set(self, reader: Reader, size: int) -> None:
        """Count so many bytes for a reader from now on."""
        self.held += size - self.of.get(reader, 0)
        if size:
            self.of[reader] = size
        else:
            self.of.pop(reader, None)


class UnreadMemory:
    """What waits to be sent at all connections of a process, by client. Belongs to the event loop's thread.

    Only who reads too slowly is counted, so that nobody else pays for it.
    """

    def __init__(self, limits: MemoryLimits = MemoryLimits()) -> None:
        self._limits = limits
        self._all = _Readers()
        self._of: dict[str, _Readers] = {}

    @property
    def held(self) -> int:
        """Bytes in all."""
        return self._all.held

    def count(self, reader: Reader, client: str, size: int) -> None:
        """So many bytes wait for a reader now; where that is too much, those for whom most waits are closed.

        A client without a name (of a Unix socket) counts only among all.
        """
        own = self._of.setdefault(client, _Readers())
        is_more = size > own.of.get(reader, 0)
        own.set(reader, size)
        self._all.set(reader, size)
        if is_more and client:
            _relieve(own, self._limits.of_client)
        if is_more:
            _relieve(self._all, self._limits.most)
        if not own.of:
            self._of.pop(client, None)


def _relieve(readers: _Readers, most: int) -> None:
    """Where more waits than may, have readers shed it, who has most first, until some of the room is free."""
    if readers.held <= most:
        return
    slowest = [(-size, place, reader) for place, (reader, size) in enumerate(readers.of.items())]
    heapq.heapify(slowest)
    while slowest and readers.held > most - most // _PART_TO_FREE:
        _, place, reader = heapq.heappop(slowest)
        left = reader.shed()
        if left:
            heapq.heappush(slowest, (-left, place, reader))
