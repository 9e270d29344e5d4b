"""What may run on the event loop and what may not, and database connections of threads that work for it."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Final, TypeVar

from django.core.exceptions import SynchronousOnlyOperation
from django.db import connections

T = TypeVar("T")


def release() -> None:
    """Give this thread's connections back after a piece of work.

    PostgreSQL's come from a pool that other threads wait for. SQLite's cost nothing when idle, and
    a lot when opened anew (pragmas, statement and page caches), so they stay, unless broken.
    """
    for connection in connections.all(initialized_only=True):
        if connection.vendor == "postgresql":
            connection.close()
        else:
            connection.close_if_unusable_or_obsolete()


async def in_thread(work: Callable[..., T], *args: object) -> T:
    """Run work that reads the database in a thread, and release its connections after."""
    return await asyncio.to_thread(_released, work, *args)


class OneThread:
    """A thread that does one piece of work after the other, and releases its connections after each.

    Args:
        name: The thread's.
        lock: Held during each piece of work.
    """

    def __init__(self, name: str, lock: AbstractContextManager[object]) -> None:
        self._lock = lock
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=name)

    async def run(self, work: Callable[..., T], *args: object) -> T:
        """Do work in the thread. Whoever does not wait for its end any more does not stop it."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, self._do, work, *args)

    def _do(self, work: Callable[..., T], *args: object) -> T:
        try:
            with self._lock:
                return work(*args)
        finally:
            release()


def _released(work: Callable[..., T], *args: object) -> T:
    """Do work, and release this thread's connections."""
    try:
        return work(*args)
    finally:
        release()


class WouldBlock(Exception):
    """A read that was tried on the event loop needs the database or a long time: use a thread."""


WOULD_BLOCK: Final = (SynchronousOnlyOperation, WouldBlock)
"""How handlers say on the event loop that they would have to wait."""


def on_event_loop() -> bool:
    """Return whether this code runs inside an event loop's thread, where nothing may block."""
    return asyncio._get_running_loop() is not None  # noqa: SLF001  # the call without its exception
