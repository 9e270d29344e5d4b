"""Check before a request whether this process has caught up with other processes that answer requests."""

from collections.abc import Callable
from typing import Protocol


class Current(Protocol):
    """Knows whether this process has caught up with the events other processes announced to clients.

    Its methods are called on the event loop.
    """

    def is_current(self) -> bool:
        """Return whether this process knows all events announced so far."""

    def when_current(self, then: Callable[[], None]) -> None:
        """Try to catch up with the announced events, then call `then`; never synchronously."""
