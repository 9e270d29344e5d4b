"""Whether the database takes what is written, by what writes that failed have said. Pure.

A full disk need not refuse everything: SQLite goes on as long as its log has room. So a refusal counts
for a while, whatever else gets through.
"""

import threading
import time
from collections.abc import Callable
from typing import Final

HOLD: Final = 30.0
"""Seconds for which a refusal counts at least: whoever makes blocks has tried again by then."""

_REASONS: Final = {
    "SQLITE_FULL": "its disk is full",
    "SQLITE_READONLY": "it is read-only",
    "SQLITE_IOERR": "its disk fails",
    "SQLITE_CANTOPEN": "its file cannot be opened",
    "SQLITE_CORRUPT": "its file is damaged",
    "SQLITE_NOTADB": "its file is damaged",
    "53100": "its disk is full",
    "25006": "it is read-only",
    "42501": "it does not let this node write",
    "58030": "its disk fails",
}
"""By SQLite's name of the error, or by the server's SQLSTATE: their own words name places."""


def reason(error: BaseException) -> str:
    """Return why a database refused something, in words; empty when its error is none of these."""
    cause = error.__cause__ or error  # Django's errors stand for those of the database's driver
    name = str(getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None) or "")
    known = (words for start, words in _REASONS.items() if name.startswith(start))
    return next(known, "")


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
        words = reason(error)
        if words:
            with self._lock:
                self._refusal, self._until = words, self._clock() + self._hold

    def refusal(self) -> str:
        """Return why the database takes no writes; empty when it does."""
        with self._lock:
            return self._refusal if self._clock() < self._until else ""
