"""Limits concurrent executions for pages and APIs, so that the other threads of the process can continue."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Semaphore
from typing import Final

PATIENCE: Final = 2.0
"""Seconds that a request waits for a place."""


class Busy(Exception):
    """All places were taken for as long as the request waited."""

    def __init__(self) -> None:
        super().__init__("Too many executions are running. Try again in a moment.")


@contextmanager
def place(places: Semaphore, *, waits: bool = False) -> Iterator[None]:
    """Hold a place during the block.

    Args:
        places: The semaphore of all places (`Explorer.executing`).
        waits: Whether to wait without a limit; otherwise for `PATIENCE` seconds.

    Raises:
        Busy: No place became free in time.
    """
    if not places.acquire(timeout=None if waits else PATIENCE):
        raise Busy
    try:
        yield
    finally:
        places.release()
