"""Limits on the memory of a process's requests, and on the output that is queued for its sockets.

Bodies count while they are read, decoded and answered; a body that exceeds the limit is refused as overload. Small
bodies do not count, because the number of connections limits them. Queued output cannot be refused any more, so the
slowest readers are closed instead.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from jsonrpc.errors import Overloaded

SMALL: Final = 16_384
"""Bytes up to which a body is not counted."""

_PART_TO_FREE: Final = 8
"""Divisor: after slow readers were closed, the limit divided by this is free, so that later messages need no search."""


@dataclass(frozen=True, slots=True)
class MemoryLimits:
    """Bytes of all bodies together, and of the bodies of one client; the same limits hold for queued output."""

    maximum: int = 128 * 1024 * 1024
    of_client: int = 40 * 1024 * 1024


class RequestMemory:
    """Memory of the current bodies, by client. Must be used in the event loop's thread."""

    def __init__(self, limits: MemoryLimits = MemoryLimits()) -> None:
        self._limits = limits
        self._of: dict[str, int] = {}
        self.held = 0
        """Bytes in total."""
        self.unread = UnreadMemory(limits)
        """Queued output. It has a limit of its own, so that slow readers do not block requests."""

    def take(self, client: str, size: int) -> None:
        """Count bytes of a client.

        Raises:
            Overloaded: they exceed the limit; nothing is counted.
        """
        own = self._of.get(client, 0) + size
        if own > self._limits.of_client or self.held + size > self._limits.maximum:
            raise Overloaded
        self._of[client] = own
        self.held += size

    def give_back(self, client: str, size: int) -> None:
        """Release bytes of a client."""
        own = self._of.pop(client) - size
        if own:
            self._of[client] = own
        self.held -= size


class MemoryShare:
    """The memory of one body; released after its answer."""

    __slots__ = ("_client", "_client_of", "_memory", "_size")

    def __init__(self, memory: RequestMemory, client: Callable[[], str]) -> None:
        self._memory = memory
        self._client_of = client  # called only for a body that is counted
        self._client = ""
        self._size = 0

    def grow(self, size: int) -> None:
        """Increase the memory to `size` bytes, if it is less.

        Raises:
            Overloaded: they exceed the limit.
        """
        if size > SMALL and size > self._size:
            self._client = self._client or self._client_of()
            self._memory.take(self._client, size - self._size)
            self._size = size

    def give_back(self) -> None:
        """Release the memory."""
        if self._size:
            self._memory.give_back(self._client, self._size)
            self._size = 0


class MemoryReader(Protocol):
    """A connection with queued output."""

    def shed(self) -> int:
        """Drop queued output in favour of the other connections.

        Returns the number of bytes that could not be dropped; another call drops them as well.
        """


class _MemoryReaders:
    """The queued bytes of some readers."""

    __slots__ = ("held", "of")

    def __init__(self) -> None:
        self.of: dict[MemoryReader, int] = {}
        self.held = 0

    def set(self, reader: MemoryReader, size: int) -> None:
        """Set the queued bytes of a reader."""
        self.held += size - self.of.get(reader, 0)
        if size:
            self.of[reader] = size
        else:
            self.of.pop(reader, None)


class UnreadMemory:
    """The queued output of all connections of a process, by client. Must be used in the event loop's thread.

    Only slow readers are counted, so that others are not affected.
    """

    def __init__(self, limits: MemoryLimits = MemoryLimits()) -> None:
        self._limits = limits
        self._all = _MemoryReaders()
        self._of: dict[str, _MemoryReaders] = {}

    @property
    def held(self) -> int:
        """Bytes in total."""
        return self._all.held

    def count(self, reader: MemoryReader, client: str, size: int) -> None:
        """Set a reader's queued bytes; if that exceeds a limit, close the readers with the longest queues.

        A client without a name (a Unix socket) counts only in the total.
        """
        own = self._of.setdefault(client, _MemoryReaders())
        is_more = size > own.of.get(reader, 0)
        own.set(reader, size)
        self._all.set(reader, size)
        if is_more and client:
            _relieve(own, self._limits.of_client)
        if is_more:
            _relieve(self._all, self._limits.maximum)
        if not own.of:
            self._of.pop(client, None)


def _relieve(readers: _MemoryReaders, maximum: int) -> None:
    """If readers exceed the limit, make those with most bytes drop them, until part of the limit is free."""
    if readers.held <= maximum:
        return
    slowest = [(-size, place, reader) for place, (reader, size) in enumerate(readers.of.items())]
    heapq.heapify(slowest)
    while slowest and readers.held > maximum - maximum // _PART_TO_FREE:
        _, place, reader = heapq.heappop(slowest)
        left = reader.shed()
        if left:
            heapq.heappush(slowest, (-left, place, reader))
