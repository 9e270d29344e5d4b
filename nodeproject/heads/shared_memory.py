"""The page of shared memory in which the processes of one machine publish a chain's head.

Every process publishes (`nodeproject.heads.sync`). If the published height is too low, others query the database once more than
needed; if it is too high, they miss blocks. So a process that may have missed a rewind publishes the lower height.
"""

import fcntl
import mmap
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

_VERSION, _HEIGHT, _BEGUN = range(3)
"""Indexes of 64-bit words, each written and read atomically."""


class Published(NamedTuple):
    """The page's counters after a publication."""

    version: int
    begun: int


class HeadPage:
    """The published head. Thread-safe.

    Args:
        descriptor: Of the page's open file.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor: Final = descriptor
        self._words = memoryview(mmap.mmap(descriptor, mmap.PAGESIZE)).cast("Q")
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
        """The number of published heads; a process that knows another number is behind."""
        return self._words[_VERSION]

    @property
    def height(self) -> int:
        """The height of the last published head."""
        return self._words[_HEIGHT]

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
            # Last: a process that sees the new version also sees all other values.
            words[_VERSION] += 1
            return Published(words[_VERSION], words[_BEGUN])

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Exclude other threads and processes that publish."""
        with self._lock, _locked(self._descriptor):
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
