"""The page of memory by which processes of one machine tell each other how far a chain is.

In the embedded profile one process tells, and all others read (`nodeproject.processes.readers`); in the production profile
each tells (`nodeproject.heads.sync`). A height that is too low costs others a look at the rows; one that is too high
would hide blocks from them, so who may not know that the chain went back lowers it.
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
"""Words of 64 bits, each written and read in one piece."""


class Told(NamedTuple):
    """What the page says after something was told."""

    version: int
    changed: int
    begun: int


class HeadPage:
    """What was told of. Threads share it.

    Args:
        descriptor: Of a page that another process has made, which this one has inherited; None: makes one.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        self.descriptor: Final = _new_page() if descriptor is None else descriptor
        self._words = memoryview(mmap.mmap(self.descriptor, mmap.PAGESIZE)).cast("Q")
        self._lock = threading.Lock()

    @classmethod
    def at(cls, path: Path) -> "HeadPage":
        """Open the page in a file, which is made where there is none; what was told before stays told.

        Raises:
            OSError: It can be neither opened nor made, or not be locked, or the disk is full.
        """
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            with _locked(descriptor):
                missing = mmap.PAGESIZE - os.fstat(descriptor).st_size
                if (
                    missing > 0
                ):  # written, for a process that stores where the disk has no room is killed
                    os.pwrite(descriptor, bytes(missing), mmap.PAGESIZE - missing)
            return cls(descriptor)
        except BaseException:
            os.close(descriptor)
            raise

    @property
    def version(self) -> int:
        """How often a head or a change was told: another number than before says that a process is behind."""
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

    @property
    def begun(self) -> int:
        """How often a process began anew at a head: another number says that the rows may have gone back."""
        return self._words[_BEGUN]

    def tell_head(
        self,
        height: int,
        begins: bool = False,  # noqa: FBT001  # a hook of `BlockMemory`
        knows: int | None = None,
    ) -> Told | None:
        """Tell of a head that is committed, before anybody is answered from it; None where it was told already.

        Args:
            height: Its own.
            begins: Whether the process begins anew there.
            knows: `begun` as the process knows it: where it is not that, the head may be one that is there no more.
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

    def tell_change(self) -> Told:
        """Tell that something was changed by hand, likewise."""
        with self._alone():
            self._words[_CHANGED] += 1
            return self._told()

    def tell_pool(self) -> None:
        """Tell that the pool is another one, after the commit."""
        with self._alone():
            self._words[_POOL] += 1

    def _told(self) -> Told:
        # Last: who sees it sees all else.
        self._words[_VERSION] += 1
        return Told(self._words[_VERSION], self._words[_CHANGED], self._words[_BEGUN])

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let no other thread or process tell meanwhile."""
        with self._lock, _locked(self.descriptor):
            yield


@contextmanager
def _locked(descriptor: int) -> Iterator[None]:
    """Hold the lock of a file among processes, those too that were forked from one that had it open.

    The kernel lets go of the lock of one that was killed, and of one that closes any descriptor of the file: a
    process opens it once.
    """
    fcntl.lockf(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.lockf(descriptor, fcntl.LOCK_UN)


def _new_page() -> int:
    """Return the descriptor of a page of zeros. It has no name, and ends with its last holder."""
    if hasattr(os, "memfd_create"):  # a container may have no directory that it may write to
        descriptor = os.memfd_create("head")
        os.truncate(descriptor, mmap.PAGESIZE)
        return descriptor
    with tempfile.TemporaryFile() as file:
        file.truncate(mmap.PAGESIZE)
        return os.dup(file.fileno())
