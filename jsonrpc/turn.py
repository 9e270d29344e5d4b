"""How long bodies may hold up one turn of an event loop, where everybody else waits for its end.

A turn works off whatever has arrived, from one connection or a hundred: what each body may take is
no bound for all of them.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final

SECONDS_OF_TURN: Final = 0.02
"""All bodies together that are more than small single calls."""


class LoopTurn:
    """The running turn of an event loop. One for all dispatchers that answer on that loop.

    It is timed from the first body that asks: those that do not ask, and the way of all of them to
    the dispatcher and back, then count as well, and cost nothing more.
    """

    def __init__(
        self,
        seconds: float = SECONDS_OF_TURN,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds = seconds
        self._clock = clock
        self._loop: asyncio.AbstractEventLoop | None = None
        """Whose turn has begun; None between turns in which a body asks."""
        self._end = 0.0

    def is_spent(self) -> bool:
        """Return whether this turn leaves no more time. Outside of a loop nobody waits."""
        now = self._clock()
        loop = asyncio._get_running_loop()  # noqa: SLF001  # the call without its exception
        if loop is None:
            return False
        if self._loop is not loop:
            self._loop = loop
            self._end = now + self._seconds
            # Runs at the beginning of the next turn, before anything that arrives for that one.
            loop.call_soon(self._over, loop)
        return now > self._end

    def _over(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._loop is loop:
            self._loop = None
