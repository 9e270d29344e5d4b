"""Places for what is executed for a page or an interface: few at a time, so that others of the process go on."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Semaphore
from typing import Final

PATIENCE: Final = 2.0
"""Seconds that somebody waits for a place."""


class Busy(Exception):
    """Others have every place for as long as somebody waits."""

    def __init__(self) -> None:
        super().__init__("Others have something executed: try again in a moment.")


@contextmanager
def place(places: Semaphore, *, waits: bool = False) -> Iterator[None]:
    """Have a place within the block.

    Args:
        places: All that there are (`Explorer.executing`).
        waits: Whether to wait until there is one; else for `PATIENCE` seconds.

    Raises:
        Busy: There was none in time.
    """
    if not places.acquire(timeout=None if waits else PATIENCE):
        raise Busy
    try:
        yield
    finally:
        places.release()
