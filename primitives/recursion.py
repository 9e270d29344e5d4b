"""Python's recursion limit, which is global to the process: restore it after imports, or raise it temporarily.

Several Ethereum packages import py_ecc, which sets the limit to 100,000. Then a parser of nested input
overflows the stack, which kills the process, instead of raising a RecursionError.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_CHANGING: Final = threading.Lock()
"""Held while the limit has a value that other threads must not read as the one to restore."""
_before: Final[list[int]] = []
"""The limits found by the threads that are raising it now."""


@contextmanager
def recursion_limit_restored() -> Iterator[None]:
    """Restore the limit at the end of the body. One thread at a time; must not be nested."""
    with _CHANGING:
        limit = sys.getrecursionlimit()
        try:
            yield
        finally:
            sys.setrecursionlimit(limit)


@contextmanager
def recursion_limit_raised(minimum: int) -> Iterator[None]:
    """Raise the limit to at least this in the body, also in several threads; the last restores it."""
    with _CHANGING:
        _before.append(sys.getrecursionlimit())
        sys.setrecursionlimit(max(minimum, _before[-1]))
    try:
        yield
    finally:
        with _CHANGING:
            limit = _before[0]
            _before.pop()
            if not _before:
                sys.setrecursionlimit(limit)
