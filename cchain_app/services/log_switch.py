"""The switch of the transaction log, shared by all processes of the node."""

import time
from collections.abc import Callable
from typing import Final

from django.core.cache import caches

from chaindb.servers import ServerAway

SECONDS: Final = 1.0
"""Maximum delay until a process sees a change by another one."""


class LogSwitch:
    """A switch that is initially on.

    If the node has several processes, the switch is in their shared cache; if that cache is lost, the
    log is on again.

    Args:
        name: Name of the chain.
        is_shared: Whether the node has several processes.
        clock: Returns increasing seconds.
    """

    def __init__(
        self, name: str, *, is_shared: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._key = f"transaction-log-off-{name}"
        self._is_shared = is_shared
        self._clock = clock
        self._is_on = True
        self._looked = clock()

    @property
    def is_on(self) -> bool:
        """The state of the switch as this process knows it."""
        return self._is_on

    def turn(self, *, on: bool) -> None:
        """Switch the log.

        Raises:
            ServerAway: The shared cache could not be changed; the switch stays as it was.
        """
        if self._is_shared:
            caches["default"].set(self._key, not on, timeout=None)
        self._is_on = on
        self._looked = self._clock()

    def look(self) -> None:
        """Read the state set by other processes, at most once a second. It may block: for threads only."""
        if self._is_shared and self._clock() >= self._looked + SECONDS:
            self._looked = self._clock()
            try:
                self._is_on = not caches["default"].get(self._key, default=False)
            except ServerAway:
                return  # keep the last known state
