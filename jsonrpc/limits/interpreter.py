"""How threads and an event loop take turns at the one interpreter of Python.

Threads that compute are few at once: none of them gets on faster beside others, but the loop, which may go on
after each write only when its turn has come, waits for all of them.

A thread that waits for a database, or leaves work to native code, lets go of the interpreter each time, and beside
a loop that answers from memory without a pause it gets it back only after a switch interval: a transaction needs
dozens of such times. So the loop makes a pause now and then while there is such a thread.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

AT_ONCE: Final = 2
"""Threads that compute."""

PATIENCE_SECONDS: Final = 0.02
"""So long a thread waits for its turn at most, in case that what was not to wait does so all the same."""

WORK_SECONDS: Final = 0.0005
"""So long a loop answers between two pauses."""

PAUSE_SECONDS: Final = 0.00005
"""A pause; the kernel makes about twice as much of it."""

NEEDED_SECONDS: Final = 0.1
"""For so long after a thread has begun the loop makes pauses. Most need less; one that waits for something else, for a
block or for upstream, would have everybody else served slower for nothing."""


class Interpreter:
    """Who may compute, and for whom the event loop makes pauses. One for all dispatchers of a process.

    Args:
        at_once: Threads that may compute.
        patience: Seconds for which one waits to be among them.
        clock: Tells seconds.
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
        """Threads that need it again and again: while there is one, `give_way` is to be called."""
        self._needed_until = 0.0
        """By the clock, of the thread that has begun last."""
        self._pauses: asyncio.AbstractEventLoop | None = None
        """The loop that makes a pause soon."""
        self._next_pause = 0.0
        """Before that time it makes none."""

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Compute in the body, when it is this thread's turn or it has waited for long."""
        entered = self._places.acquire(timeout=self._patience)
        try:
            yield
        finally:
            if entered:
                self._places.release()

    @contextmanager
    def needed(self) -> Iterator[None]:
        """Have the event loop make pauses while the body runs, which lets go of the interpreter again and again.

        For NEEDED_SECONDS at most, from when the last such body began.
        """
        with self._counting:
            self.needed_by += 1
            self._needed_until = self._clock() + NEEDED_SECONDS
        try:
            yield
        finally:
            with self._counting:
                self.needed_by -= 1

    def give_way(self, loop: asyncio.AbstractEventLoop) -> None:
        """Make a pause if a thread needs one, when what the loop has answered in this turn is on its way.

        For the loop's thread, after each request that it has answered.
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
