"""Python's recursion limit, which is one for the whole process: kept over imports that raise it, and raised for a while.

Several packages of Ethereum import py_ecc, which sets it to 100,000. A parser of nested input then runs into the end
of the stack, which ends the process, instead of a RecursionError.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_CHANGING: Final = threading.Lock()
"""Held while the limit is not what others may take for the one to go back to."""
_before: Final[list[int]] = []
"""The limits that those found who raise it just now."""


@contextmanager
def recursion_limit_kept() -> Iterator[None]:
    """Restore the limit on leaving; one thread at a time. Not to be nested."""
    with _CHANGING:
        limit = sys.getrecursionlimit()
        try:
            yield
        finally:
            sys.setrecursionlimit(limit)


@contextmanager
def recursion_limit_raised(least: int) -> Iterator[None]:
    """Let the limit be no lower while the body runs, in however many threads at a time; the last one lowers it."""
    with _CHANGING:
        _before.append(sys.getrecursionlimit())
        sys.setrecursionlimit(max(least, _before[-1]))
    try:
        yield
    finally:
        with _CHANGING:
            limit = _before[0]
            _before.pop()
            if not _before:
                sys.setrecursionlimit(limit)
