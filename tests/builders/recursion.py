"""Keeps Python's recursion limit while a package that raises it is imported.

Several eth packages import py_ecc, which sets the limit to 100,000; a JSON parser may then run into
the end of the stack instead of a RecursionError, and tests would no longer show what a node does.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def recursion_limit_kept() -> Iterator[None]:
    """Restore the limit on leaving."""
    limit = sys.getrecursionlimit()
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
