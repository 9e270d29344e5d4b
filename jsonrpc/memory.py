"""The memory that the requests of a process may hold together: bodies that are read, decoded, answered.

What does not fit is refused as overload. Small bodies are not counted: what they need is bounded by
the number of connections.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from jsonrpc.errors import Overloaded

SMALL: Final = 16_384
"""Bytes of a body that nobody counts."""


@dataclass(frozen=True, slots=True)
class MemoryLimits:
    """Bytes of all bodies together, and of those of one client."""

    most: int = 128 * 1024 * 1024
    of_client: int = 40 * 1024 * 1024


class RequestMemory:
    """What bodies hold now, by client. Belongs to the event loop's thread."""

    def __init__(self, limits: MemoryLimits = MemoryLimits()) -> None:
        self._limits = limits
        self._of: dict[str, int] = {}
        self.held = 0
        """Bytes in all."""

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
