"""The indexes of calls and of tokens, which are written after the blocks: time slices, and how readers wait for them."""

import threading
import time
from collections.abc import Callable
from typing import Final

from chaindb.connections import release

SHARE: Final = {"embedded": 0.1, "production": 0.8}
"""Seconds of each second in which an index is written, by profile: the embedded worker also builds the blocks."""

REST_SECONDS: Final = 5.0
"""Seconds between two slices while the process is busy.

Shorter slices in each second would not help: blocks are read in batches, and stopping early wastes
most of the reading. A writer also takes more from the threads that answer requests or build blocks than its own time:
whenever the writer returns from the database and needs the interpreter, the others wait for a switch
interval."""

BUSY_SHARE: Final = 0.5
"""The process counts as busy if its threads together compute for more than this share of the time."""

CHECK_SECONDS: Final = 0.5
"""Minimum seconds between two checks; in a shorter time a single response would count as busy."""


LONG_SECONDS: Final = 0.02
"""A request that takes longer does not keep a writer waiting: it may wait for something other than the interpreter."""

GIVEN_SECONDS: Final = 0.1
"""Seconds that a slice may wait for requests before it ends: other tasks follow in the same thread."""

LOOK_SECONDS: Final = 0.0003
"""Seconds between two looks whether a request is still executed."""


def never() -> bool:
    """Return False: no request is executed beside the writer."""
    return False


class TimeSlice:
    """The time in which an index is written, between requests where possible.

    A thread that executes a request releases the interpreter at each statement. If a writer computes meanwhile, the thread
    gets it back only after a switch interval, and a block of one transaction takes fifteen milliseconds in place of three.

    Args:
        seconds: Seconds of writing. The waits for requests do not count.
        is_needed: As in `IndexingTime`.
        clock: Returns seconds.
        sleep: Waits for a number of seconds.
    """

    def __init__(
        self,
        seconds: float,
        is_needed: Callable[[], bool] = never,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._is_needed = is_needed
        self._end = clock() + seconds
        self._patience = GIVEN_SECONDS

    def is_over(self) -> bool:
        """Wait for the request that is executed now, if any; return whether the slice has ended."""
        now = began = self._clock()
        while self._is_needed() and now - began < self._patience:
            if now - began >= LONG_SECONDS:
                self._is_needed = never
                break
            self._sleep(LOOK_SECONDS)
            now = self._clock()
        self._end += now - began
        self._patience -= now - began
        return now >= self._end or self._patience <= 0


class IndexingTime:
    """Decides how long each index may be written in its turn. One object for all indexes of a process.

    Unspecified: while a node is busy with requests its indexes may fall behind; they catch up when it
    is less busy.

    Args:
        profile: `embedded` if the process does everything, else it is a worker.
        clock: Returns seconds.
    """

    def __init__(self, profile: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._share = SHARE[profile]
        self._clock = clock
        self.is_needed = never
        """Returns whether a thread of this process executes a request, which shares the interpreter with the writer."""
        self._processor_time: Callable[[], float] | None = None
        self._checked_at = self._used_before = 0.0
        self._is_busy = False
        self._written_at: dict[str, float] = {}
        """When each index was last written, by name."""

    def beside(
        self, processor_time: Callable[[], float], is_needed: Callable[[], bool] = never
    ) -> None:
        """Pause writing from now on while this process is busy: it also answers requests or builds blocks.

        Args:
            processor_time: Returns the seconds that the threads of the process have computed.
            is_needed: As the attribute of this name.
        """
        self._checked_at, self._used_before = self._clock(), processor_time()
        self._processor_time = processor_time
        self.is_needed = is_needed

    def seconds(self, index: str) -> float:
        """Return for how many seconds an index may be written now, or 0. Called every second.

        Args:
            index: Name of the index.
        """
        now = self._clock()
        if self._processor_time is not None:
            self._update_busy(now, self._processor_time)
        last = self._written_at.get(index)
        if self._is_busy and last is not None and now - last < REST_SECONDS:
            return 0.0
        self._written_at[index] = now
        return self._share

    def _update_busy(self, now: float, processor_time: Callable[[], float]) -> None:
        passed = now - self._checked_at
        if passed < CHECK_SECONDS:
            return
        used = processor_time()
        self._is_busy = used - self._used_before > BUSY_SHARE * passed
        self._checked_at, self._used_before = now, used


class SingleRun:
    """Work that at most one thread of this process does at a time.

    Args:
        name: The name of the thread that `start` creates.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()

    @property
    def is_running(self) -> bool:
        """Whether a thread does the work now."""
        return self._lock.locked()

    def run(self, work: Callable[[], object]) -> bool:
        """Do the work in this thread; return False immediately if another thread is already working."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            work()
        finally:
            self._lock.release()
        return True

    def start(self, work: Callable[[], object]) -> bool:
        """Do the work in a new thread; return False immediately if another thread is already working."""

        def in_thread() -> None:
            try:
                work()
            finally:
                self._lock.release()
                release()

        if not self._lock.acquire(blocking=False):
            return False
        try:
            threading.Thread(target=in_thread, name=self._name, daemon=True).start()
        except RuntimeError:  # the system has no threads left: the next caller tries again
            self._lock.release()
            raise
        return True


PATIENCE: Final = 2.0
"""Seconds that a reader waits for an index."""

PAUSE: Final = 1.0
"""Seconds after a wait in vain in which other readers do not wait, so that they do not occupy all threads."""

POLL_SECONDS: Final = 0.02
"""Seconds between two checks of an index that another thread or process writes."""


class IndexBehind(Exception):
    """An index has not reached the blocks that an answer needs.

    Args:
        index: The contents of the index, in the plural.
        written: The height up to which it is written.
        needed: The height up to which the answer needs it.
    """

    def __init__(self, index: str, written: int, needed: int) -> None:
        super().__init__(
            f"the index of {index} has reached block {max(written, 0)}, but this answer needs block {needed}; "
            "try again later"
        )


def progress_text(written: int, head: int, first: int = 0) -> str:
    """Return how far an index is, for pages.

    Args:
        written: The height up to which it is written.
        head: The height of the head.
        first: The first height of which rows are kept.
    """
    start = f"from block {first:,} " if first else ""
    behind = "" if written >= head else "; later blocks are missing until the index has caught up"
    return f"rows {start}up to block {written:,} of {head:,}{behind}"


class LaggingIndex(SingleRun):
    """An index that a periodic task writes after the blocks, and that readers may advance themselves.

    A client that has a receipt expects that every answer contains its block. The task runs once a second, and
    rests while the node is busy, so a reader does not only wait: it writes the missing blocks, in its own thread.

    Args:
        name: The name of the thread that `start` creates.
        clock: Returns seconds.
        sleep: Waits for a number of seconds.
    """

    def __init__(
        self,
        name: str,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(name)
        self._clock = clock
        self._sleep = sleep
        self._no_wait_until = 0.0

    def wait(self, is_current: Callable[[], bool], advance: Callable[[float], object]) -> bool:
        """Advance the index until it is current, for `PATIENCE` seconds at most; return whether it is.

        Args:
            is_current: Returns whether the index contains all that the reader needs.
            advance: Writes the next part of the index, for about the given number of seconds.
        """
        if is_current():
            return True
        if self._clock() < self._no_wait_until:
            return False
        until = self._clock() + PATIENCE
        while (left := until - self._clock()) > 0:
            advance(left)
            if is_current():
                return True
            self._sleep(POLL_SECONDS)
        self._no_wait_until = self._clock() + PAUSE
        return False
