"""Whether the log of transactions is switched on: for all processes of the node alike."""

import time
from collections.abc import Callable
from typing import Final

from django.core.cache import caches

from chaindb.servers import ServerAway

SECONDS: Final = 1.0
"""Until a process sees what another one has switched."""


class LogSwitch:
    """A switch that is on in the beginning.

    Where the node has several processes it is in the cache that they share; who loses that cache has the
    log on again.

    Args:
        name: Of the chain.
        is_shared: Whether the node has several processes.
        clock: Seconds, rising.
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
        """As this process knows it."""
        return self._is_on

    def turn(self, *, on: bool) -> None:
        """Switch the log.

        Raises:
            ServerAway: Others could not be told; nothing is changed.
        """
        if self._is_shared:
            caches["default"].set(self._key, not on, timeout=None)
        self._is_on = on
        self._looked = self._clock()

    def look(self) -> None:
        """Look at what other processes have switched, each second at most. It may wait: for threads."""
        if self._is_shared and self._clock() >= self._looked + SECONDS:
            self._looked = self._clock()
            try:
                self._is_on = not caches["default"].get(self._key, default=False)
            except ServerAway:
                return  # as it was
