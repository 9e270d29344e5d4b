"""Threads for calls that may wait: bounded in number, and bounded in what waits for them."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

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
        self._pending = 0
        self._lock = threading.Lock()

    @property
    def pending(self) -> int:
        """Jobs that run or wait."""
        return self._pending

    async def run(
        self, seconds: float | None, job: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a job in a thread and wait for its result.

        Raises:
            Overloaded: too many jobs wait already.
            TimeoutError: the result did not come within `seconds`; the job goes on by itself.
        """
        with self._lock:
            if self._pending >= self._most:
                raise Overloaded
            self._pending += 1
        future = self._pool.submit(self._run, partial(job, *args, **kwargs))
        async with asyncio.timeout(seconds):
            return await asyncio.shield(_forgiving(future))

    def _run(self, job: Callable[[], T]) -> T:
        try:
            return job()
        finally:
            with self._lock:
                self._pending -= 1
            self._after()

    def close(self) -> None:
        """Take no more jobs; those that wait are dropped, those that run are left to end."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _forgiving(future: Future[T]) -> asyncio.Future[T]:
    """A future whose failure may go unread: its waiter may have given up."""
    wrapped = asyncio.wrap_future(future)
    wrapped.add_done_callback(lambda done: done.cancelled() or done.exception())
    return wrapped
