"""How threads and an event loop share the Python interpreter.

Only a few threads may compute simultaneously. More of them would not be faster, but the loop, which needs the
interpreter again after each write, would have to wait for all of them.

A thread that waits for a database, or calls native code, releases the interpreter each time. If the loop answers from
memory without a pause, the thread gets the interpreter back only after a switch interval, and a transaction needs it
dozens of times. Therefore the loop pauses now and then while there is such a thread.
"""

import asyncio
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

AT_ONCE: Final = 2
"""Threads that may compute simultaneously."""

PATIENCE_SECONDS: Final = 0.02
"""Maximal seconds that a thread waits for its turn, in case that a computing thread blocks after all."""

WORK_SECONDS: Final = 0.0005
"""Seconds that a loop answers between two pauses."""

PAUSE_SECONDS: Final = 0.00005
"""Duration of a pause in seconds; in practice the kernel doubles it."""

NEEDED_SECONDS: Final = 0.1
"""Seconds for which the loop pauses after a thread has started. Most threads need less. For a thread that waits for
something else, such as a block or an upstream server, longer pauses would slow down all other requests for nothing."""


class Interpreter:
    """Shares the interpreter between threads and the event loop. One for all dispatchers of a process.

    Args:
        at_once: Threads that may compute simultaneously.
        patience: Maximal seconds that a thread waits for its turn.
        clock: Returns seconds.
        sleep: Makes the loop's pause.
    """

    def __init__(
        self,
        at_once: int = AT_ONCE,
        patience: float = PATIENCE_SECONDS,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._places = threading.Semaphore(at_once)
        self._patience = patience
        self._clock = clock
        self._sleep = sleep
        self._counting = threading.Lock()
        self.needed_by = 0
        """Number of threads that need the interpreter repeatedly; if there are any, call `give_way`."""
        self._needed_until = 0.0
        """End of the pauses by the clock, counted from the start of the last such thread."""
        self._pauses: asyncio.AbstractEventLoop | None = None
        """The loop for which a pause is scheduled."""
        self._next_pause = 0.0
        """Earliest time of the next pause."""

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Run the body when it is this thread's turn, or when it has waited for the maximal time."""
        entered = self._places.acquire(timeout=self._patience)
        try:
            yield
        finally:
            if entered:
                self._places.release()

    def need(self) -> None:
        """Make the event loop pause until `need_no_more`: a thread starts, or releases the interpreter repeatedly.

        The pauses end NEEDED_SECONDS after the last such call.
        """
        with self._counting:
            self.needed_by += 1
            self._needed_until = self._clock() + NEEDED_SECONDS

    def need_no_more(self) -> None:
        """End what `need` began; call it once for each of its calls, from any thread."""
        with self._counting:
            self.needed_by -= 1

    @contextmanager
    def needed(self) -> Iterator[None]:
        """Make the event loop pause while the body runs, as `need` does."""
        self.need()
        try:
            yield
        finally:
            self.need_no_more()

    def give_way(self, loop: asyncio.AbstractEventLoop) -> None:
        """Schedule a pause if a thread needs one, after the answers of this turn of the loop are written.

        Call it in the loop's thread, after each answered request.
        """
        if self._pauses is loop or not self.needed_by:
            return
        if self._next_pause <= self._clock() < self._needed_until:
            self._pauses = loop
            loop.call_soon(self._pause)

    def _pause(self) -> None:
        self._pauses = None
        self._sleep(PAUSE_SECONDS)
        self._next_pause = self._clock() + WORK_SECONDS


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
