"""Threads for calls that may wait, with limits on their number and their queue; abandoned jobs are dropped.

A thread that starts a job needs the interpreter, and so does one that ends it. An event loop that answers from memory
without a pause could keep both waiting for hundreds of milliseconds, so it pauses until the job has ended.

The pool grows only while a job waits for some milliseconds. A new thread opens its own connection to the database, which
takes ten times as long as a usual job: eight new threads for a burst of sixteen batches answered the last one after 40 ms.
"""

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
from jsonrpc.limits.interpreter import Interpreter

P = ParamSpec("P")
T = TypeVar("T")


GROWTH_SECONDS: Final = 0.005
"""Seconds that a job waits for one of the busy threads until another thread is started, and between two such starts."""

_FORGOTTEN_SECONDS: Final = 1.0
"""Seconds after which a scheduled start counts as lost: its event loop was closed."""


def _nothing() -> None:
    pass


class _Job(NamedTuple):
    """A job for a thread, and the future for its result."""

    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    work: Callable[[], Any]


class TimeLimit(NamedTuple):
    """A time limit that the work may lift after it has started."""

    seconds: float
    is_lifted: Callable[[], bool]
    """Called when the time has passed."""

    def expire(self, future: "asyncio.Future[Any]") -> None:
        """Raise `TimeoutError` for the waiting caller, unless the limit is lifted."""
        if not self.is_lifted():
            _settle(future, None, TimeoutError())


class Workers:
    """A thread pool shared by all transports of a process.

    `threads` jobs run simultaneously and `queue` more may wait. `after` is called in the thread after each job, for
    example to clean up database connections. `interpreter` makes the event loop pause for the jobs. A job whose caller
    stops waiting before it has started is dropped.
    """

    def __init__(
        self,
        threads: int = 8,
        queue: int = 1000,
        after: Callable[[], object] = _nothing,
        interpreter: Interpreter | None = None,
    ) -> None:
        self._threads: list[ThreadPoolExecutor] = []
        """The threads that were started, each as a pool of its own."""
        self._idle: list[ThreadPoolExecutor] = []
        """Those without a job. The last one gets the next job: its caches are warm, and others need no memory for it."""
        self._most_threads = threads
        self._most = threads + queue
        self._waiting: OrderedDict[int, _Job] = OrderedDict()
        """Jobs that have not started, oldest first."""
        self._after = after
        self._interpreter = interpreter or Interpreter()
        self._tickets = itertools.count()
        self._pending: dict[int, float] = {}
        """Arrival times of the jobs by the monotonic clock, oldest first."""
        self._lock = threading.Lock()
        self._is_closed = False
        self._growth_until = 0.0
        """Until when the start of another thread counts as scheduled, by the monotonic clock."""

    @property
    def pending(self) -> int:
        """Number of jobs that run or wait."""
        return len(self._pending)

    def longest_seconds(self) -> float:
        """Return for how long the oldest job has been running or waiting; 0 without jobs."""
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
            Overloaded: too many jobs wait already, or the pool is closed.
            TimeoutError: the result did not arrive within the limit, in seconds; a job that has started
                continues.
        """
        loop = asyncio.get_running_loop()
        # A bare future and a bare timer, because every call that is not hot takes this path.
        future: asyncio.Future[T] = loop.create_future()
        ticket = self._queue_job(_Job(loop, future, partial(job, *args, **kwargs)))
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

    def _queue_job(self, job: _Job) -> int:
        """Queue a job; return its ticket."""
        with self._lock:
            if self._is_closed or len(self._pending) >= self._most:
                raise Overloaded
            ticket = next(self._tickets)
            self._pending[ticket] = time.monotonic()
            self._waiting[ticket] = job
            self._interpreter.need()
            if (thread := self._free_thread()) is not None:
                thread.submit(self._run_jobs, thread)
            else:
                self._grow_later(job.loop)
        return ticket

    def _free_thread(self) -> ThreadPoolExecutor | None:
        """Return a thread without a job, the first one started if necessary; None if all of them have jobs."""
        if self._idle:
            return self._idle.pop()
        return None if self._threads else self._new_thread()

    def _new_thread(self) -> ThreadPoolExecutor:
        name = f"jsonrpc_{len(self._threads)}"
        self._threads.append(thread := ThreadPoolExecutor(1, thread_name_prefix=name))
        return thread

    def _grow_later(self, loop: asyncio.AbstractEventLoop) -> None:
        """Schedule a look at the waiting jobs, unless one is scheduled or all threads are started. Under the lock."""
        now = time.monotonic()
        if len(self._threads) < self._most_threads and now >= self._growth_until:
            self._growth_until = now + GROWTH_SECONDS + _FORGOTTEN_SECONDS
            loop.call_later(GROWTH_SECONDS, self._grow, loop)

    def _grow(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start another thread if a job has waited too long; look again while jobs wait."""
        with self._lock:
            self._growth_until = 0.0
            if self._is_closed or not self._waiting:
                return
            oldest = self._pending[next(iter(self._waiting))]
            if (
                len(self._threads) < self._most_threads
                and time.monotonic() - oldest >= GROWTH_SECONDS
            ):
                thread = self._new_thread()
                thread.submit(self._run_jobs, thread)
            self._grow_later(loop)

    def _withdraw(self, ticket: int) -> None:
        """Drop a job that has not started, and everything that it holds."""
        with self._lock:
            if self._waiting.pop(ticket, None) is not None:
                self._forget(ticket)

    def _forget(self, ticket: int) -> None:
        """Note that a job has ended, or will never start."""
        del self._pending[ticket]
        self._interpreter.need_no_more()

    def _run_jobs(self, thread: ThreadPoolExecutor) -> None:
        """Run jobs in a thread, oldest first, until none waits."""
        with self._lock:
            task = self._next_job(thread)
        while task is not None:
            ticket, job = task
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
                self._forget(ticket)
                # Done before the caller wakes, because the caller may then queue a job for this thread.
                task = self._next_job(thread)
            _wake_caller(job, result, failure)

    def _next_job(self, thread: ThreadPoolExecutor) -> tuple[int, _Job] | None:
        if self._waiting:
            return self._waiting.popitem(last=False)
        self._idle.append(thread)
        return None

    def close(self) -> None:
        """Accept no further jobs; refuse waiting ones, and let running ones finish."""
        with self._lock:
            self._is_closed = True
            refused = list(self._waiting.values())
            for ticket in self._waiting:
                self._forget(ticket)
            self._waiting.clear()
        for job in refused:
            _wake_caller(job, None, Overloaded())
        for thread in self._threads:  # no thread starts after `_is_closed` is set
            thread.shutdown(wait=False, cancel_futures=True)


def _wake_caller(job: _Job, result: object, failure: BaseException | None) -> None:
    """Wake a job's caller, from any thread. If its event loop is closed, there is no caller to wake."""
    with contextlib.suppress(RuntimeError):
        job.loop.call_soon_threadsafe(_settle, job.future, result, failure)


def _settle(future: asyncio.Future[Any], result: object, failure: BaseException | None) -> None:
    """Set the result for the caller, unless it has given up."""
    if future.done():
        return
    if failure is None:
        future.set_result(result)
    else:
        future.set_exception(failure)


CHECK_SECONDS: Final = 0.005
"""Minimal seconds between checks of the client's connection, because a check costs as much as a small call."""


class ClientGone(Exception):
    """The client has disconnected."""


class WaitingClient:
    """A client that waits for an answer until a deadline of the clock.

    Its connection tells whether it has disconnected, if the connection can (see `HttpConnection`).
    """

    def __init__(self, connection: object, end: float, clock: Callable[[], float]) -> None:
        self._is_gone: Callable[[], bool] | None = getattr(connection, "is_gone", None)
        self._end = end
        self._clock = clock
        self._next_check = -math.inf

    def is_over(self) -> bool:
        """Return whether the deadline has passed.

        Raises:
            ClientGone: the client has disconnected.
        """
        now = self._clock()
        if self._is_gone is not None and now >= self._next_check:
            self._next_check = now + CHECK_SECONDS
            if self._is_gone():
                raise ClientGone
        return now > self._end

    def lift(self) -> None:
        """Remove the deadline."""
        self._end = math.inf

    def is_late(self) -> bool:
        """Return whether the deadline has passed, for an answer that is ready."""
        return self._clock() > self._end
