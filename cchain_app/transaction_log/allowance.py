"""A rate limit for the log, so that it stays readable and costs the node hardly anything. Pure."""

import time
from collections.abc import Callable
from typing import Final

AT_ONCE: Final = 500
"""Entries after a pause, enough for each transaction of a whole test suite."""

A_SECOND: Final = 100
"""Sustained entries per second: at a tenth of a millisecond each they take a hundredth of the time."""


class EntryAllowance:
    """The number of entries that may be written; it grows with time, up to `at_once`.

    Args:
        at_once: The highest number.
        a_second: Growth per second.
        clock: Returns increasing seconds.
    """

    def __init__(
        self,
        at_once: int = AT_ONCE,
        a_second: float = A_SECOND,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = at_once
        self._a_second = a_second
        self._clock = clock
        self._left = float(at_once)
        self._seen = clock()

    def take(self, entries: int) -> bool:
        """Take this many entries, or none if there are not as many; return whether they were taken."""
        now = self._clock()
        self._left = min(self._most, self._left + (now - self._seen) * self._a_second)
        self._seen = now
        if entries > self._left:
            return False
        self._left -= entries
        return True
