"""A warning about an event that any client can repeat as often as it likes."""

import logging
import time
from collections.abc import Callable
from typing import Final

SILENCE_SECONDS: Final = 60.0
"""Seconds between two log lines about the same kind of event."""


class RecurringWarning:
    """Logs the first event, then one line per minute with the number of events since the last line.

    Args:
        log: The logger.
        clock: Seconds, monotonic.
    """

    def __init__(self, log: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._clock = clock
        self._next_line = clock()
        self._count = 0

    def log(self, text: str, *values: object) -> None:
        """Count an event, and log it if a line is due."""
        self._count += 1
        now = self._clock()
        if now < self._next_line:
            return
        self._log.warning(text + " (%d more since the last such message)", *values, self._count)
        self._next_line = now + SILENCE_SECONDS
        self._count = 0
