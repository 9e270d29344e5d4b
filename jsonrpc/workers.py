"""Threads for calls that may wait: bounded in number, and bounded in what waits for them."""

import asyncio
import contextlib
import itertools
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, TypeVar

from jsonrpc.errors import Overloaded

P = ParamSpec("P")
T = TypeVar("T")


def _nothing() -> None:
    pass


class Workers:
    """A thread pool that all doors of a process share.

    `threads` run at once and `queue` more may wait; `after` is called in the thread after each
    job, where a framework puts its database connections in order.
    """

    def __init__(
        self, threads: int = 8, queue: int = 1000, after: Callable[[], object] = _nothing
    ) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="jsonrpc")
        self._most = threads + queue
        self._after = after
        self._tickets = itertools.count()
        self._pending: dict[int, float] = {}
        """When each job came, by the monotonic clock, oldest first."""
        self._lock = threading.Lock()

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
        self, seconds: float | None, job: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a job in a thread and wait for its result.

        Raises:
            Overloaded: too many jobs wait already.
            TimeoutError: the result did not come within `seconds`; the job goes on by itself.
        """
        with self._lock:
            if len(self._pending) >= self._most:
                raise Overloaded
            ticket = next(self._tickets)
            self._pending[ticket] = time.monotonic()
        loop = asyncio.get_running_loop()
        # A bare future and a bare timer: this is the way of every call that is not hot.
        future: asyncio.Future[T] = loop.create_future()
        self._pool.submit(self._run, ticket, loop, future, partial(job, *args, **kwargs))
        if seconds is None:
            return await future
        timer = loop.call_later(seconds, _settle, future, None, TimeoutError())
        try:
            return await future
        finally:
            timer.cancel()

    def _run(
        self,
        ticket: int,
        loop: asyncio.AbstractEventLoop,
        future: asyncio.Future[T],
        job: Callable[[], T],
    ) -> None:
        result: T | None = None
        failure: BaseException | None = None
        try:
            try:
                result = job()
            finally:
                self._after()
        except BaseException as error:
            failure = error
        with self._lock:
            del self._pending[ticket]
        # A loop that was closed meanwhile has nobody who waits.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle, future, result, failure)

    def close(self) -> None:
        """Take no more jobs; those that wait are dropped, those that run are left to end."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _settle(future: asyncio.Future[Any], result: object, failure: BaseException | None) -> None:
    """Wake the waiter, unless it has given up."""
    if future.done():
        return
    if failure is None:
        future.set_result(result)
    else:
        future.set_exception(failure)
