"""Calls that arrive separately and are executed together in one thread.

A database transaction costs the same for one submission as for fifty, and so does the switch to a thread and back.
Calls that arrive while a group is executed wait, and form the next group.
"""

import asyncio
from typing import Final

from jsonrpc.dispatch.dispatcher import Dispatcher
from jsonrpc.dispatch.envelope import Body
from jsonrpc.dispatch.workers import Workers
from jsonrpc.errors import Overloaded

MAX_TOGETHER: Final = 256
"""Maximal number of bodies in one group."""

MAX_TOGETHER_BYTES: Final = 64 * 1024
"""Number of bytes of bodies after which a group takes no further ones: it has at least one."""

LINGER_SECONDS: Final = 0.005
"""Maximal seconds to wait for further bodies after a group, because its clients may send the next ones."""

GRACE_SECONDS: Final = 1.0
"""Seconds by which a transport waits longer than the dispatcher's own limit, for answers that are ready."""

MAX_WAITING: Final = 8192
"""Maximal number of waiting bodies; more are refused as overload."""

_Waiting = tuple[bytes | Body, "asyncio.Future[bytes | None]"]


class Gatherer:
    """Gathers bodies whose calls are of one vectorized method. Belongs to one event loop."""

    def __init__(self, dispatcher: Dispatcher, workers: Workers, seconds: float) -> None:
        self._dispatcher = dispatcher
        self._workers = workers
        self._seconds = seconds
        self._waiting: list[_Waiting] = []
        self._task: asyncio.Task[None] | None = None
        self._expected = 0
        """Number of waiting bodies after which lingering ends."""
        self._all_there: asyncio.Future[None] | None = None

    async def answer(self, body: bytes | Body) -> bytes | None:
        """Wait for the answer to a body.

        Raises:
            Overloaded: too many bodies wait already, here or for a thread.
            TimeoutError: the group took too long; its execution continues.
        """
        if len(self._waiting) >= MAX_WAITING:
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
        """Execute the waiting bodies, group by group, until none is left."""
        try:
            while self._waiting:
                piece = self._waiting[: self._count()]
                del self._waiting[: len(piece)]
                await self._work_off(piece)
                await self._linger(len(piece))
        finally:
            self._task = None

    def _count(self) -> int:
        """Return how many of the waiting bodies form the next group."""
        size = 0
        for count, (body, _) in enumerate(self._waiting[:MAX_TOGETHER], 1):
            size += len(body.text if isinstance(body, Body) else body)
            if size >= MAX_TOGETHER_BYTES:
                return count
        return min(len(self._waiting), MAX_TOGETHER)

    async def _linger(self, last: int) -> None:
        """Wait for as many bodies as were in the last group, if it had several."""
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
        except Exception as error:  # raised to each waiting request
            for _, future in piece:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), answer in zip(piece, answers, strict=True):
            if not future.done():  # its client may have disconnected
                future.set_result(answer)


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class Gatherers:
    """The gatherers by interface and method, for all transports of a process. Belongs to one event loop.

    Calls from different transports are executed together. Calls of one method do not wait for those of another.
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
