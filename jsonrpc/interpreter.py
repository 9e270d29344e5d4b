"""A bound on the threads that compute in Python at once.

They take turns with the event loop at the one interpreter: none of them gets on faster beside others,
but the loop, which may go on after each write only when its turn has come, waits for all of them.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

AT_ONCE: Final = 2
"""Threads."""

PATIENCE_SECONDS: Final = 0.02
"""So long a thread waits for its turn at most, in case that what was not to wait does so all the same."""


class Interpreter:
    """Who may compute. One for all dispatchers of a process."""

    def __init__(self, at_once: int = AT_ONCE, patience: float = PATIENCE_SECONDS) -> None:
        self._places = threading.Semaphore(at_once)
        self._patience = patience

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Compute in the body, when it is this thread's turn or it has waited for long."""
        entered = self._places.acquire(timeout=self._patience)
        try:
            yield
        finally:
            if entered:
                self._places.release()
