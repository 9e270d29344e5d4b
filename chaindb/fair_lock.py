"""A lock that is handed to who has waited for it longest. Pure.

SQLite lets writers try again after longer and longer pauses until the lock happens to be free; Python's own lock
goes to whoever is quickest. Either way a thread that writes seldom, like a maker of blocks, can wait for
seconds behind threads that write all the time.
"""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager


class WaitedTooLong(Exception):
    """The lock was not handed over in the time that there was."""


class FairLock:
    """Threads of one process hold it one after the other, in the order in which they came."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._held = False
        self._owner: int | None = None
        """The thread that has it."""
        self._waiting: deque[threading.Event] = deque()

    @contextmanager
    def held(self, seconds: float) -> Iterator[None]:
        """Hold the lock, for `with`. The thread that has it may take it again: it goes on at once.

        Raises:
            WaitedTooLong: Others held it for that long.
        """
        thread = threading.get_ident()
        if self._owner == thread:
            yield
            return
        self._acquire(seconds)
        self._owner = thread
        try:
            yield
        finally:
            self._owner = None
            self._hand_over()

    def _acquire(self, seconds: float) -> None:
        with self._guard:
            if not self._held:
                self._held = True
                return
            turn = threading.Event()
            self._waiting.append(turn)
        if turn.wait(seconds):
            return
        with self._guard:
            if not turn.is_set():
                self._waiting.remove(turn)
                raise WaitedTooLong

    def _hand_over(self) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._held = False
