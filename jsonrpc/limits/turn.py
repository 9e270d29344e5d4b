"""How long bodies may hold up one turn of an event loop, where everybody else waits for its end.

A turn works off whatever has arrived, from one connection or a hundred: what each body may take is
no bound for all of them.
"""

import asyncio
import math
import time
from collections.abc import Callable
from typing import Final

SECONDS_OF_TURN: Final = 0.02
"""All bodies together that are more than small single calls."""

SECONDS_OF_SHORT_TURN: Final = 0.0005
"""The same while connections come: a loop of libuv accepts one in each turn, and a crowd of them would
wait for all the bodies of those before."""

ARRIVAL_SECONDS: Final = 0.05
"""Where two are accepted within so long, others may be waiting, for as long after the last one."""


class LoopTurn:
    """The running turn of an event loop. One for all dispatchers that answer on that loop.

    What an endpoint answers whole (`Endpoint.whole`, `frames`) does not ask, and bounds itself.

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
        self._expected_until = self._short_until = -math.inf

    def accepted(self) -> None:
        """Take note of a connection; with the second one in a while, this turn and those after it are short."""
        now = self._clock()
        if now < self._expected_until:
            self._short_until = now + ARRIVAL_SECONDS
            self._end = min(self._end, now + SECONDS_OF_SHORT_TURN)
        self._expected_until = now + ARRIVAL_SECONDS

    def is_spent(self) -> bool:
        """Return whether this turn leaves no more time. Outside of a loop nobody waits."""
        now = self._clock()
        loop = asyncio._get_running_loop()  # noqa: SLF001  # the call without its exception
        if loop is None:
            return False
        if self._loop is not loop:
            self._loop = loop
            short = now < self._short_until
            self._end = now + (SECONDS_OF_SHORT_TURN if short else self._seconds)
            # Runs at the beginning of the next turn, before anything that arrives for that one.
            loop.call_soon(self._over, loop)
        return now > self._end

    def _over(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._loop is loop:
            self._loop = None
