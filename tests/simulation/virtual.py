"""An event loop whose time advances as soon as all tasks are idle, and a bus on it."""

import asyncio
import selectors
from collections.abc import Callable
from random import Random
from typing import Any

from tests.simulation.bus import Bus

TURN = 1e-6
"""Least seconds per iteration of the loop, so that a timer with the shortest delay expires
eventually."""
STEP = 0.01
"""Seconds between checks of a condition."""


class _NoWaiting(selectors.DefaultSelector):
    """A selector that advances the loop's time instead of waiting for sockets."""

    loop: "VirtualLoop"

    def select(self, timeout: float | None = None) -> Any:
        assert timeout is not None, "everybody waits for ever"
        self.loop.now += max(timeout, TURN)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in virtual time."""

    def __init__(self) -> None:
        selector = _NoWaiting()
        selector.loop = self
        self.now = 0.0
        super().__init__(selector)

    def time(self) -> float:
        return self.now

    def end(self) -> None:
        """End all running tasks, including those that start meanwhile."""
        while tasks := asyncio.all_tasks(self):
            for task in tasks:
                task.cancel()
            self.run_until_complete(asyncio.wait(tasks))
        self.close()


class LoopBus(Bus):
    """The bus on an event loop with virtual or real time, for nodes that use tasks and timers."""

    def __init__(self, random: Random, loss: float, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.failures: list[BaseException] = []
        """Errors of callbacks and threads, which would not be noticed otherwise."""
        loop.set_exception_handler(self._note)
        super().__init__(random, loss)

    @property
    def now(self) -> float:
        return self.loop.time()

    @now.setter
    def now(self, time: float) -> None:
        assert time == 0.0

    def at(self, time: float, work: Callable[[], None]) -> None:
        self.loop.call_at(time, work)

    def run(self, until: float, done: Callable[[], bool]) -> bool:
        """Advance time to `until`, or until a condition holds; return whether it holds."""

        async def wait() -> None:
            while not done() and self.loop.time() < until:
                await asyncio.sleep(STEP)

        self.loop.run_until_complete(wait())
        self.see()
        return done()

    def see(self) -> None:
        """Raise the first recorded error."""
        if self.failures:
            raise self.failures[0]

    def _note(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        del loop
        self.failures.append(context.get("exception") or RuntimeError(context["message"]))
