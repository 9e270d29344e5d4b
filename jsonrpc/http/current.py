"""What the doors ask before a request where other processes answer as well."""

from collections.abc import Callable
from typing import Protocol


class Current(Protocol):
    """Says whether this process knows what others have told their clients. Used on the event loop."""

    def is_current(self) -> bool:
        """Return whether it knows all that was told by now."""

    def when_current(self, then: Callable[[bool], None]) -> None:
        """Learn what was told by now, and then call; with whether that was possible. Never within this call."""
