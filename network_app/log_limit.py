"""Limit how often a log line is repeated. Pure."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

PERIOD = 60.0
"""Seconds between two log lines on the same subject."""
MAX_KEYS = 1024


class LogLimit:
    """Allows one log line per minute for each key; the number of remembered keys is limited."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._logged: OrderedDict[Hashable, float] = OrderedDict()

    def allows(self, key: Hashable) -> bool:
        """Return whether to log a line about `key` now; if so, the next one is allowed a minute later."""
        now = self._clock()
        last = self._logged.get(key)
        if last is not None and now - last < PERIOD:
            return False
        self._logged[key] = now
        self._logged.move_to_end(key)
        if len(self._logged) > MAX_KEYS:
            self._logged.popitem(last=False)
        return True
