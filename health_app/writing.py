"""Whether the database takes what is written, by what writes that failed have said. Pure.

A full disk need not refuse everything: SQLite goes on as long as its log has room. So a refusal counts
for a while, whatever else gets through.
"""

import threading
import time
from collections.abc import Callable
from typing import Final

from chaindb.unavailable import refusal

HOLD: Final = 30.0
"""Seconds for which a refusal counts at least: whoever makes blocks has tried again by then."""


class Writes:
    """What the writes of this process have come to. Safe to use from any thread.

    Args:
        hold: seconds for which a refusal counts.
        clock: seconds from some moment on.
    """

    def __init__(self, hold: float = HOLD, clock: Callable[[], float] = time.monotonic) -> None:
        self._hold = hold
        self._clock = clock
        self._lock = threading.Lock()
        self._refusal = ""
        self._until = 0.0

    def failed(self, error: BaseException) -> None:
        """Note a failure; those that are no refusal of the database are not its fault."""
        words = refusal(error)
        if words:
            with self._lock:
                self._refusal, self._until = words, self._clock() + self._hold

    def refusal(self) -> str:
        """Return why the database takes no writes; empty when it does."""
        with self._lock:
            return self._refusal if self._clock() < self._until else ""
