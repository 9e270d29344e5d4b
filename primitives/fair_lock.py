"""A lock that is handed to the thread that has waited longest. Pure.

With SQLite's lock, writers retry after longer and longer pauses until the lock happens to be free.
Python's own lock goes to the fastest thread, often the one that has just released it. Either way a
thread that writes rarely, like a block producer, can wait for seconds behind frequent writers.
"""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self


class WaitedTooLong(Exception):
    """The lock was not handed over in the given time."""


class FairLock:
    """A reentrant lock that threads of one process hold in the order in which they asked for it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._held = False
        self._owner: int | None = None
        """The thread that holds it."""
        self._depth = 0
        """How often that thread has taken it."""
        self._waiting: deque[threading.Event] = deque()

    @contextmanager
    def held(self, seconds: float) -> Iterator[None]:
        """Hold the lock, for `with`. Its owner may take it again.

        Raises:
            WaitedTooLong: Other threads held it for that long.
        """
        if not self._acquire(seconds):
            raise WaitedTooLong
        try:
            yield
        finally:
            self.release()

    def acquire(self, *, blocking: bool = True, timeout: float = -1) -> bool:
        """Take the lock, waiting for it if `blocking`; return whether this thread holds it.

        Args:
            blocking: Whether to wait for it.
            timeout: Seconds to wait at most; -1: without limit.
        """
        if not blocking:
            return self._acquire(0.0)
        return self._acquire(None if timeout < 0 else timeout)

    def release(self) -> None:
        """Release the lock and hand it to the thread that has waited longest."""
        assert self._owner == threading.get_ident(), "only the owner releases the lock"
        self._depth -= 1
        if self._depth:
            return
        self._owner = None
        with self._guard:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._held = False

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _acquire(self, seconds: float | None) -> bool:
        """Take the lock within some seconds (None: no limit). Return whether that succeeded."""
        thread = threading.get_ident()
        if self._owner != thread and not self._wait(seconds):
            return False
        self._owner = thread
        self._depth += 1
        return True

    def _wait(self, seconds: float | None) -> bool:
        with self._guard:
            if not self._held:
                self._held = True
                return True
            if seconds == 0:
                return False
            turn = threading.Event()
            self._waiting.append(turn)
        if turn.wait(seconds):
            return True
        with self._guard:
            if turn.is_set():
                return True
            self._waiting.remove(turn)
            return False
