"""Limit on the time that bodies may take in one turn of an event loop, while all other tasks wait.

A turn processes everything that has arrived, from one connection or a hundred, so a limit per body does not limit
the turn.
"""

import asyncio
import math
import time
from collections.abc import Callable
from typing import Final

SECONDS_OF_TURN: Final = 0.02
"""Seconds for all bodies of a turn together, except for small single calls."""

SECONDS_OF_SHORT_TURN: Final = 0.0005
"""The same while many clients connect. A libuv loop accepts one connection per turn, and in a burst each of them would
wait for the bodies of all earlier ones."""

ARRIVAL_SECONDS: Final = 0.05
"""If two connections are accepted within this time, more may be waiting, for as long after the last one."""


class LoopTurn:
    """The current turn of an event loop. One for all dispatchers that answer on that loop.

    Answers by `Endpoint.whole` and `frames` do not check it and limit themselves.

    The time counts from the first body that checks it. From then on, bodies that do not check it, and the work
    outside of the dispatcher, count as well without extra cost.
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
        """The loop of the current turn; None until a body of a turn checks it."""
        self._end = 0.0
        self._expected_until = self._short_until = -math.inf

    def accepted(self) -> None:
        """Note a connection; after the second one in a short time, this turn and the following ones are short."""
        now = self._clock()
        if now < self._expected_until:
            self._short_until = now + ARRIVAL_SECONDS
            self._end = min(self._end, now + SECONDS_OF_SHORT_TURN)
        self._expected_until = now + ARRIVAL_SECONDS

    def is_spent(self) -> bool:
        """Return whether the time of this turn is used up. Without an event loop there is no limit."""
        now = self._clock()
        loop = asyncio._get_running_loop()  # noqa: SLF001  # the public call raises without a loop
        if loop is None:
            return False
        if self._loop is not loop:
            self._loop = loop
            short = now < self._short_until
            self._end = now + (SECONDS_OF_SHORT_TURN if short else self._seconds)
            # Runs at the beginning of the next turn, before the events of that turn.
            loop.call_soon(self._over, loop)
        return now > self._end

    def _over(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._loop is loop:
            self._loop = None
