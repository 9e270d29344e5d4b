"""The page of shared memory in which the processes of one machine publish a chain's head.

In the embedded profile one process publishes and all others read (`nodeproject.processes.readers`); in the production profile
every process publishes (`nodeproject.heads.sync`). If the published height is too low, readers query the database
once more than needed; if it is too high, they miss blocks. So a process that may have missed a rewind publishes the
lower height.
"""

import fcntl
import mmap
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

_VERSION, _HEIGHT, _CHANGED, _POOL, _BEGUN = range(5)
"""Indexes of 64-bit words, each written and read atomically."""


class Published(NamedTuple):
    """The page's counters after a publication."""

    version: int
    begun: int


class HeadPage:
    """The published head. Thread-safe.

    Args:
        descriptor: Of a page that another process has created and this one has inherited; None creates a page.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        self.descriptor: Final = _new_page() if descriptor is None else descriptor
        self._words = memoryview(mmap.mmap(self.descriptor, mmap.PAGESIZE)).cast("Q")
        self._lock = threading.Lock()

    @classmethod
    def at(cls, path: Path) -> "HeadPage":
        """Open the page in a file, creating it if it is missing; published values are kept.

        Raises:
            OSError: The file cannot be opened, created or locked, or the disk is full.
        """
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            with _locked(descriptor):
                missing = mmap.PAGESIZE - os.fstat(descriptor).st_size
                if (
                    missing > 0
                ):  # written explicitly: storing to a page without disk space would kill the process
                    os.pwrite(descriptor, bytes(missing), mmap.PAGESIZE - missing)
            return cls(descriptor)
        except BaseException:
            os.close(descriptor)
            raise

    @property
    def version(self) -> int:
        """The number of published heads and changes; a process that knows another number is behind."""
        return self._words[_VERSION]

    @property
    def height(self) -> int:
        """The height of the last published head."""
        return self._words[_HEIGHT]

    @property
    def changed(self) -> int:
        """The number of changes made by cheats, which only the embedded profile has."""
        return self._words[_CHANGED]

    @property
    def pool(self) -> int:
        """The number of pool changes; readers cache the pool's contents under this number."""
        return self._words[_POOL]

    @property
    def begun(self) -> int:
        """The number of resets to a head; another number than before means that the rows may have been rewound."""
        return self._words[_BEGUN]

    def tell_head(
        self,
        height: int,
        begins: bool = False,  # noqa: FBT001  # a hook of `BlockMemory`
        knows: int | None = None,
    ) -> Published | None:
        """Publish a committed head before any request is answered from it; return None if it was published already.

        Args:
            height: The head's height.
            begins: Whether the process resets its state to this head.
            knows: The value of `begun` that the process knows; if it is outdated, the head may no longer exist.
        """
        with self._alone():
            words = self._words
            is_behind = knows is not None and knows != words[_BEGUN]
            if is_behind:
                begins, height = True, min(height, words[_HEIGHT])
            if not begins and height <= words[_HEIGHT]:
                return None
            words[_BEGUN] += begins  # before a height that may be lower
            words[_HEIGHT] = height
            return self._told()

    def tell_change(self) -> None:
        """Publish that a cheat has changed something, before any request is answered from the change."""
        with self._alone():
            self._words[_CHANGED] += 1
            self._told()

    def tell_pool(self) -> None:
        """Publish a change of the pool, after the commit."""
        with self._alone():
            self._words[_POOL] += 1

    def _told(self) -> Published:
        # Last: a process that sees the new version also sees all other values.
        self._words[_VERSION] += 1
        return Published(self._words[_VERSION], self._words[_BEGUN])

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Exclude other threads and processes that publish."""
        with self._lock, _locked(self.descriptor):
            yield


@contextmanager
def _locked(descriptor: int) -> Iterator[None]:
    """Hold a file's lock among processes, including processes forked from one that had the file open.

    The kernel releases the lock when its process is killed or closes any descriptor of the file, so a process
    opens the file only once.
    """
    fcntl.lockf(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.lockf(descriptor, fcntl.LOCK_UN)


def _new_page() -> int:
    """Return the descriptor of a page of zeros, which has no name and disappears with its last user."""
    if hasattr(os, "memfd_create"):  # a container may have no writable directory
        descriptor = os.memfd_create("head")
        os.truncate(descriptor, mmap.PAGESIZE)
        return descriptor
    with tempfile.TemporaryFile() as file:
        file.truncate(mmap.PAGESIZE)
        return os.dup(file.fileno())
