"""Threads for calls that may wait: bounded in number, in what waits for them, and to who still waits."""

import asyncio
import contextlib
import itertools
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, NamedTuple, ParamSpec, TypeVar

from jsonrpc.errors import Overloaded

P = ParamSpec("P")
T = TypeVar("T")


def _nothing() -> None:
    pass


class _Job(NamedTuple):
    """What runs in a thread, and whom its result is for."""

    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    work: Callable[[], Any]


class TimeLimit(NamedTuple):
    """A time limit that the work may lift after it has begun."""

    seconds: float
    is_lifted: Callable[[], bool]
    """Asked when the time has passed."""

    def expire(self, future: "asyncio.Future[Any]") -> None:
        """Raise `TimeoutError` for the waiter, unless the limit is lifted."""
        if not self.is_lifted():
            _settle(future, None, TimeoutError())


class Workers:
    """A thread pool that all doors of a process share.

    `threads` run at once and `queue` more may wait; `after` is called in the thread after each
    job, where a framework puts its database connections in order. A job for which nobody waits any
    more before it has begun is forgotten.
    """

    def __init__(
        self, threads: int = 8, queue: int = 1000, after: Callable[[], object] = _nothing
    ) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="jsonrpc")
        self._threads = threads
        self._most = threads + queue
        self._busy = 0
        """Threads that run jobs, or are about to."""
        self._waiting: OrderedDict[int, _Job] = OrderedDict()
        """Jobs that have not begun, oldest first."""
        self._after = after
        self._tickets = itertools.count()
        self._pending: dict[int, float] = {}
        """When each job came, by the monotonic clock, oldest first."""
        self._lock = threading.Lock()
        self._is_closed = False

    @property
    def pending(self) -> int:
        """Jobs that run or wait."""
        return len(self._pending)

    def longest_seconds(self) -> float:
        """For how long the oldest job has been running or waiting; 0 when there is none."""
        with self._lock:
            oldest = next(iter(self._pending.values()), None)
        return 0.0 if oldest is None else time.monotonic() - oldest

    async def run(
        self,
        limit: "float | TimeLimit | None",
        job: Callable[P, T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Run a job in a thread and wait for its result.

        Raises:
            Overloaded: too many jobs wait already, or the threads are to end.
            TimeoutError: the result did not come within the limit, in seconds; a job that has begun
                continues.
        """
        loop = asyncio.get_running_loop()
        # A bare future and a bare timer: this is the way of every call that is not hot.
        future: asyncio.Future[T] = loop.create_future()
        ticket = self._enter(_Job(loop, future, partial(job, *args, **kwargs)))
        timer = None
        if isinstance(limit, TimeLimit):
            timer = loop.call_later(limit.seconds, limit.expire, future)
        elif limit is not None:
            timer = loop.call_later(limit, _settle, future, None, TimeoutError())
        try:
            return await future
        except BaseException:
            self._withdraw(ticket)
            raise
        finally:
            if timer is not None:
                timer.cancel()

    def _enter(self, job: _Job) -> int:
        """Let a job wait for its turn; returns its ticket."""
        with self._lock:
            if self._is_closed or len(self._pending) >= self._most:
                raise Overloaded
            ticket = next(self._tickets)
            self._pending[ticket] = time.monotonic()
            self._waiting[ticket] = job
            begins = self._busy < self._threads
            self._busy += begins
            if begins:
                self._pool.submit(self._work_off)
        return ticket

    def _withdraw(self, ticket: int) -> None:
        """Forget a job that has not begun, and all that it holds."""
        with self._lock:
            if self._waiting.pop(ticket, None) is not None:
                del self._pending[ticket]

    def _work_off(self) -> None:
        """Run jobs, the oldest first, until none waits."""
        while (taken := self._take()) is not None:
            ticket, job = taken
            result: Any = None
            failure: BaseException | None = None
            try:
                try:
                    result = job.work()
                finally:
                    self._after()
            except BaseException as error:
                failure = error
            with self._lock:
                del self._pending[ticket]
            _tell(job, result, failure)

    def _take(self) -> tuple[int, _Job] | None:
        with self._lock:
            if self._waiting:
                return self._waiting.popitem(last=False)
            self._busy -= 1
            return None

    def close(self) -> None:
        """Take no more jobs; those that wait are refused, those that run are left to end."""
        with self._lock:
            self._is_closed = True
            refused = list(self._waiting.values())
            for ticket in self._waiting:
                del self._pending[ticket]
            self._waiting.clear()
        for job in refused:
            _tell(job, None, Overloaded())
        self._pool.shutdown(wait=False, cancel_futures=True)


def _tell(job: _Job, result: object, failure: BaseException | None) -> None:
    """Wake a job's waiter, from any thread. A loop that was closed meanwhile has nobody who waits."""
    with contextlib.suppress(RuntimeError):
        job.loop.call_soon_threadsafe(_settle, job.future, result, failure)


def _settle(future: asyncio.Future[Any], result: object, failure: BaseException | None) -> None:
    """Wake the waiter, unless it has given up."""
    if future.done():
        return
    if failure is None:
        future.set_result(result)
    else:
        future.set_exception(failure)


LOOK_SECONDS: Final = 0.005
"""So often at most the client is looked for: that costs as much as a small call."""


class Gone(Exception):
    """The client has hung up."""


class Waiting:
    """A client that waits for an answer until a time by the clock.

    Whether it has hung up its connection says, if it can (see `HttpConnection`).
    """

    def __init__(self, connection: object, end: float, clock: Callable[[], float]) -> None:
        self._is_gone: Callable[[], bool] | None = getattr(connection, "is_gone", None)
        self._end = end
        self._clock = clock
        self._next_look = -math.inf

    def is_over(self) -> bool:
        """Return whether the time has passed.

        Raises:
            Gone: the client has hung up.
        """
        now = self._clock()
        if self._is_gone is not None and now >= self._next_look:
            self._next_look = now + LOOK_SECONDS
            if self._is_gone():
                raise Gone
        return now > self._end

    def lift(self) -> None:
        """Wait for any time from now on."""
        self._end = math.inf

    def is_late(self) -> bool:
        """Return whether the time has passed for an answer that is ready."""
        return self._clock() > self._end
