"""The page of memory by which the writer tells its readers how far it is; one writes, all others read."""

import mmap
import os
import tempfile
import threading
from typing import Final

_VERSION, _HEIGHT, _CHANGED, _POOL = range(4)
"""Words of 64 bits, each written and read in one piece."""


class HeadPage:
    """What the writer has told of. Threads share it.

    Args:
        descriptor: Of a page that another process has made, which this one has inherited; None: makes one.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        self.descriptor: Final = _new_page() if descriptor is None else descriptor
        self._words = memoryview(mmap.mmap(self.descriptor, mmap.PAGESIZE)).cast("Q")
        self._lock = threading.Lock()

    @property
    def version(self) -> int:
        """How often a head or a change was told: another number than before says that a reader is behind."""
        return self._words[_VERSION]

    @property
    def height(self) -> int:
        """The height of the last head that was told."""
        return self._words[_HEIGHT]

    @property
    def changed(self) -> int:
        """How often something was changed by hand."""
        return self._words[_CHANGED]

    @property
    def pool(self) -> int:
        """How often the pool became another one: what a reader remembers of it, it remembers with this number."""
        return self._words[_POOL]

    def tell_head(self, height: int, _begins: bool = False) -> None:  # noqa: FBT001  # a hook of `BlockMemory`
        """Tell of a head that is committed, before anybody is answered from it."""
        with self._lock:
            self._words[_HEIGHT] = height
            self._words[_VERSION] += 1

    def tell_change(self) -> None:
        """Tell that something was changed by hand, likewise."""
        with self._lock:
            self._words[_CHANGED] += 1
            self._words[_VERSION] += 1

    def tell_pool(self) -> None:
        """Tell that the pool is another one, after the commit."""
        with self._lock:
            self._words[_POOL] += 1


def _new_page() -> int:
    """Return the descriptor of a page of zeros. It has no name, and ends with its last holder."""
    if hasattr(os, "memfd_create"):  # a container may have no directory that it may write to
        descriptor = os.memfd_create("head")
        os.truncate(descriptor, mmap.PAGESIZE)
        return descriptor
    with tempfile.TemporaryFile() as file:
        file.truncate(mmap.PAGESIZE)
        return os.dup(file.fileno())
