"""Transactions that a loss of power does not take back.

With NODE_SQLITE_SYNCHRONOUS=NORMAL a commit survives the end of the process, and reaches the disk some
time later. That will do as long as nobody else has seen it. PostgreSQL waits for the disk by itself.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

FULL = 2
"""SQLite's number for: each commit waits for the disk."""


@contextmanager
def on_disk() -> Iterator[None]:
    """Let the transactions that begin within, and all that were committed before, reach the disk.

    Within a transaction it changes nothing: the outermost one decides.
    """
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        yield
        return
    with connection.cursor() as cursor:
        (usual,) = cursor.execute("PRAGMA synchronous").fetchone()
    if usual >= FULL:
        yield
        return
    _set(FULL)
    try:
        yield
    finally:
        _set(usual)


def _set(level: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA synchronous={level}")
