"""How much the log may say in a time: what people can read, and what costs the node hardly anything. Pure."""

import time
from collections.abc import Callable
from typing import Final

AT_ONCE: Final = 500
"""Entries after a pause: a whole suite of tests is told one by one."""

A_SECOND: Final = 100
"""Entries that last: a tenth of a millisecond each is a hundredth of the time."""


class Allowance:
    """Entries that may be written; they come back with time, up to `at_once`.

    Args:
        at_once: The most there can be.
        a_second: How many come back.
        clock: Seconds, rising.
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
        """Take so many, or none: say whether there were as many."""
        now = self._clock()
        self._left = min(self._most, self._left + (now - self._seen) * self._a_second)
        self._seen = now
        if entries > self._left:
            return False
        self._left -= entries
        return True
