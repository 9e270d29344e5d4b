"""Limit how often a log line is repeated. Pure."""

import time
from collections.abc import Callable, Hashable

from primitives.bounded_cache import BoundedCache

PERIOD = 60.0
"""Seconds between two log lines on the same subject."""
MAX_KEYS = 1024


class LogLimit:
    """Allows one log line per minute for each key; the number of remembered keys is limited."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._logged: BoundedCache[Hashable, float] = BoundedCache(MAX_KEYS)

    def allows(self, key: Hashable) -> bool:
        """Return whether to log a line about `key` now; if so, the next one is allowed a minute later."""
        now = self._clock()
        last = self._logged.peek(key)
        if last is not None and now - last < PERIOD:
            return False
        self._logged.put_newest(key, now)
        return True
