"""Database connections of threads that work for the event loop."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

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

    def run() -> T:
        try:
            return work(*args)
        finally:
            release()

    return await asyncio.to_thread(run)
