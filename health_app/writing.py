"""Whether the database accepts writes, according to the errors of failed writes. Pure.

A full disk does not make every write fail: SQLite continues while its log has free pages. So a rejected write counts for a
while, even if other writes succeed.
"""

import threading
import time
from collections.abc import Callable
from typing import Final

from chaindb.unavailable import refusal

HOLD: Final = 30.0
"""Seconds for which a rejected write counts, at least: block producers have retried by then."""


class Writes:
    """Write failures of this process. Thread-safe.

    Args:
        hold: Seconds for which a rejected write counts.
        clock: A monotonic clock in seconds.
    """

    def __init__(self, hold: float = HOLD, clock: Callable[[], float] = time.monotonic) -> None:
        self._hold = hold
        self._clock = clock
        self._lock = threading.Lock()
        self._refusal = ""
        self._until = 0.0

    def failed(self, error: BaseException) -> None:
        """Record a failure; errors other than a rejection by the database are ignored."""
        reason = refusal(error)
        if reason:
            with self._lock:
                self._refusal, self._until = reason, self._clock() + self._hold

    def refusal(self) -> str:
        """Return why the database rejects writes; empty if it accepts them."""
        with self._lock:
            return self._refusal if self._clock() < self._until else ""
