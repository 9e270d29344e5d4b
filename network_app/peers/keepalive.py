"""Timers of one connection: timeouts and repeated calls.

They cost nothing while messages arrive: when a timer is due, it checks how long the state has really lasted.
"""

import asyncio
from collections.abc import Callable


class Watch:
    """Calls `expired` when a state has lasted for some seconds without interruption."""

    def __init__(
        self, seconds: float, since: Callable[[], float | None], expired: Callable[[], None]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._seconds = seconds
        self._since = since
        """When the state began (the loop's time), None while it does not hold."""
        self._expired = expired
        self._timer = self._loop.call_later(seconds, self._look)

    def _look(self) -> None:
        since = self._since()
        now = self._loop.time()
        due = self._seconds + (now if since is None else since)
        if since is not None and now >= due:
            self._expired()
        else:
            self._timer = self._loop.call_at(due, self._look)

    def cancel(self) -> None:
        """Stop the timer."""
        self._timer.cancel()


class Repeat:
    """Calls a function at a fixed interval."""

    def __init__(self, seconds: float, call: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._seconds = seconds
        self._call = call
        self._timer = self._loop.call_later(seconds, self._due)

    def _due(self) -> None:
        self._timer = self._loop.call_later(self._seconds, self._due)
        self._call()

    def cancel(self) -> None:
        """Stop calling."""
        self._timer.cancel()
