"""Python's recursion limit stays what it is while a package is imported that raises it for the whole process.

Several packages of Ethereum import py_ecc, which sets it to 100,000. A parser of nested input then runs into the end
of the stack, which ends the process, instead of a RecursionError.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_IMPORTING: Final = threading.Lock()
"""Who waits for another thread's import would else take the raised limit for the one to keep."""


@contextmanager
def recursion_limit_kept() -> Iterator[None]:
    """Restore the limit on leaving; one thread at a time. Not to be nested."""
    with _IMPORTING:
        limit = sys.getrecursionlimit()
        try:
            yield
        finally:
            sys.setrecursionlimit(limit)
