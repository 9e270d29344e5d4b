"""Calls that arrive one by one and are worked off together, in one thread and one piece of work.

A transaction of the database costs the same for one submission as for fifty; so does the way to a
thread and back. While one piece of work runs, what arrives waits, and is the next piece.
"""

import asyncio
from typing import Final

from jsonrpc.dispatch.dispatcher import Dispatcher
from jsonrpc.dispatch.envelope import Body
from jsonrpc.dispatch.workers import Workers
from jsonrpc.errors import Overloaded

MOST_TOGETHER: Final = 256
"""Bodies in one piece of work."""

LINGER_SECONDS: Final = 0.005
"""For so long at most those are waited for who were answered together before."""

GRACE_SECONDS: Final = 1.0
"""How much longer a door waits than the dispatcher's own limit, for answers that are ready."""

MOST_WAITING: Final = 8192
"""Bodies that may wait; more are refused as overload."""

_Waiting = tuple[bytes | Body, "asyncio.Future[bytes | None]"]


class Gatherer:
    """Gathers single calls of a method that is vectorized. Belongs to one event loop."""

    def __init__(self, dispatcher: Dispatcher, workers: Workers, seconds: float) -> None:
        self._dispatcher = dispatcher
        self._workers = workers
        self._seconds = seconds
        self._waiting: list[_Waiting] = []
        self._task: asyncio.Task[None] | None = None
        self._expected = 0
        """So many bodies are waited for by who lingers."""
        self._all_there: asyncio.Future[None] | None = None

    async def answer(self, body: bytes | Body) -> bytes | None:
        """Wait for the answer to a body.

        Raises:
            Overloaded: too many wait already, here or for a thread.
            TimeoutError: the piece of work took too long; it continues.
        """
        if len(self._waiting) >= MOST_WAITING:
            raise Overloaded
        loop = asyncio.get_running_loop()
        future: asyncio.Future[bytes | None] = loop.create_future()
        self._waiting.append((body, future))
        if self._all_there is not None and len(self._waiting) >= self._expected:
            _wake(self._all_there)
        if self._task is None:
            self._task = loop.create_task(self._work())
        return await future

    async def _work(self) -> None:
        """Work off what waits, piece by piece, until nothing does."""
        try:
            while self._waiting:
                piece = self._waiting[:MOST_TOGETHER]
                del self._waiting[:MOST_TOGETHER]
                await self._work_off(piece)
                await self._linger(len(piece))
        finally:
            self._task = None

    async def _linger(self, last: int) -> None:
        """Wait for as many bodies as were in the last piece, if those were several."""
        if last == 1 or len(self._waiting) >= last:
            return
        loop = asyncio.get_running_loop()
        self._expected, self._all_there = last, loop.create_future()
        timer = loop.call_later(LINGER_SECONDS, _wake, self._all_there)
        try:
            await self._all_there
        finally:
            timer.cancel()
            self._all_there = None

    async def _work_off(self, piece: list[_Waiting]) -> None:
        try:
            bodies = [body for body, _ in piece]
            answers = await self._workers.run(
                self._seconds, self._dispatcher.answer_together, bodies
            )
        except Exception as error:  # each waiting request is told
            for _, future in piece:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), answer in zip(piece, answers, strict=True):
            if not future.done():  # its client may have gone away
                future.set_result(answer)


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class Gatherers:
    """The gatherer of each method of each interface, for all doors of a process. Belongs to one event loop.

    What comes in by one door is worked off together with what came in by the others. Calls of one method do not wait
    for those of another.
    """

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._of: dict[tuple[Dispatcher, str], Gatherer] = {}

    def of(self, dispatcher: Dispatcher, method: str) -> Gatherer:
        """Return a method's gatherer."""
        gatherer = self._of.get((dispatcher, method))
        if gatherer is None:
            seconds = dispatcher.limits.seconds + GRACE_SECONDS
            gatherer = Gatherer(dispatcher, self._workers, seconds)
            self._of[dispatcher, method] = gatherer
        return gatherer
