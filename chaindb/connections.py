"""Rules for code on the event loop, and database connections of the threads that work for it."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Final, TypeVar

from django.core.exceptions import SynchronousOnlyOperation
from django.db import connections

T = TypeVar("T")


def release() -> None:
    """Release this thread's connections after a piece of work.

    PostgreSQL connections come from a pool that other threads wait for. SQLite connections cost
    nothing while idle and much to reopen (pragmas, statement and page caches), so they stay open
    unless they are broken.
    """
    for connection in connections.all(initialized_only=True):
        if connection.vendor == "postgresql":
            connection.close()
        else:
            connection.close_if_unusable_or_obsolete()


async def in_thread(work: Callable[..., T], *args: object) -> T:
    """Run work that reads the database in a thread, then release the thread's connections."""
    return await asyncio.to_thread(_released, work, *args)


class OneThread:
    """A thread that runs work sequentially and releases its connections after each piece.

    Args:
        name: Name of the thread.
        lock: Held during each piece of work.
    """

    def __init__(self, name: str, lock: AbstractContextManager[object]) -> None:
        self._lock = lock
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=name)

    async def run(self, work: Callable[..., T], *args: object) -> T:
        """Run work in the thread. A caller that stops waiting does not stop the work."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, self._do, work, *args)

    def _do(self, work: Callable[..., T], *args: object) -> T:
        try:
            with self._lock:
                return work(*args)
        finally:
            release()


def _released(work: Callable[..., T], *args: object) -> T:
    """Run work, then release this thread's connections."""
    try:
        return work(*args)
    finally:
        release()


class WouldBlock(Exception):
    """A read on the event loop needs the database or takes too long: run it in a thread."""


WOULD_BLOCK: Final = (SynchronousOnlyOperation, WouldBlock)
"""Exceptions by which handlers report on the event loop that they would have to wait."""


def on_event_loop() -> bool:
    """Return whether this code runs inside an event loop's thread, where nothing may block."""
    return asyncio._get_running_loop() is not None  # noqa: SLF001  # the call without its exception
