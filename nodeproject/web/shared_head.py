"""Keeps the processes of one machine at the same head and pool: each publishes its changes in shared memory before it answers.

Only the production profile has several processes. Every one of them publishes, and those with RPC interfaces follow.
Processes on other machines learn of a head by chain events, some milliseconds later. If the published height is too low,
others query the database once more than needed; if it is too high, they miss blocks. So a process that may have missed a
rewind publishes the lower height.
"""

import asyncio
import fcntl
import logging
import mmap
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from cchain_app.chain import EvmChain
from cchain_app.selectors import blocks
from chaindb.connections import in_thread
from chaindb.followers import directory_of
from jsonrpc.dispatch.calls import STOP

_VERSION, _HEIGHT, _BEGUN, _POOL = range(4)
"""Indexes of 64-bit words, each written and read atomically."""


class Publication(NamedTuple):
    """The page's counters after a publication."""

    version: int
    begun: int


class HeadPage:
    """The published head, and the number of changes of the pool (`cchain_app.memory.chain.PoolChanges`). Thread-safe.

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

    @property
    def pool_changes(self) -> int:
        """The number of times that a process of the machine has changed the pool."""
        return self._words[_POOL]

    def count_pool_change(self) -> None:
        """Count a committed change of the pool before any request is answered from it."""
        with self._alone():
            self._words[_POOL] += 1

    def publish_head(
        self,
        height: int,
        begins: bool = False,  # noqa: FBT001  # a hook of `BlockMemory`
        knows: int | None = None,
    ) -> Publication | None:
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
            return Publication(words[_VERSION], words[_BEGUN])

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


LOOK_SECONDS: Final = 3.0
"""Seconds that requests wait for reading the rows; then they are answered from the state known before the publication."""

_log: Final = logging.getLogger(__name__)

Then = Callable[[], None]
"""Continues a request, on the event loop."""


class SharedHead:
    """A process's memory of the chain, kept in step with the page that all processes of the machine share.

    A head that one answer has shown is never missing from a later answer, whichever process of the machine answers. A
    process that commits publishes the head before it answers. If the publisher was killed between commit and
    publication, any process with RPC interfaces that finds the head in the rows publishes it before it answers; other
    processes answer no requests. For an event loop with RPC interfaces it is their `jsonrpc.http.answering.Current`.

    Args:
        chain: The chain; its changes are published from now on.
        page: The machine's shared page.
    """

    def __init__(self, chain: EvmChain, page: HeadPage) -> None:
        self._chain = chain
        self._page = page
        self._version = -1
        """The page's version that this process has reached last."""
        self._begun = self._published_begun = page.begun
        """The page's `begun` before the last read of the rows, and after this process's last publication."""
        self._own = -1
        """The version under which this process, being current, has published the head that it is about to move to."""
        self._has_begun = False
        self._moved = chain.memory.blocks.on_head
        self._waiting: list[Then] = []
        self._reaching: asyncio.Task[None] | None = None
        self._reading: asyncio.Future[None] | None = None
        """The most recent read of the rows."""
        chain.memory.pool.shared = page
        chain.memory.on_rewind = self._publish_rewind
        chain.on_accepted.append(lambda accepted: self._publish_head(accepted[-1].number, False))

    def begin(self) -> None:
        """Begin to answer requests: this process has RPC interfaces and publishes each head that it reaches."""
        self._has_begun = True
        memory = self._chain.memory.blocks
        memory.before_move = self._publish_head
        memory.on_head = self._have_moved

    def is_current(self) -> bool:
        """Return whether this process has reached the published state. Called for each request."""
        version = self._page.version
        return version == self._version or self._is_there(version)

    def _is_there(self, version: int) -> bool:
        """Return whether a chain event has already brought this process to the state of a version."""
        page, head = self._page, self._chain.memory.blocks.head
        if page.begun != self._begun or head is None or head.number < page.height:
            return False
        self._version = version
        return True

    def when_current(self, then: Then) -> None:
        """Reach the published state, then call `then`; concurrent callers wait for the same read of the rows."""
        self._waiting.append(then)
        if self._reaching is None:
            self._reaching = asyncio.get_running_loop().create_task(self._reach())

    async def _reach(self) -> None:
        try:
            while self._waiting:
                waiting, self._waiting = self._waiting, []
                await self._reach_version(self._page.version)
                for then in waiting:
                    _resume(then)
        finally:
            self._reaching = None

    async def _reach_version(self, version: int) -> None:
        """Reach a version of the page; if that fails or takes too long, requests are answered from the known state.

        An event, the tick or the next version makes this process try again.
        """
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                await self._read_rows()
        except (*STOP, asyncio.CancelledError):
            raise
        except BaseException as error:
            # Any exception: a native extension that panics raises no `Exception`.
            _log.warning("the head published by another process could not be read: %s", error)
        self._version = version

    async def _read_rows(self) -> None:
        if self._reading is not None and not self._reading.done():
            # The previous read takes too long: wait for it rather than block a second thread.
            await asyncio.wait([self._reading])
        self._reading = asyncio.ensure_future(in_thread(self._catch_up))
        self._reading.add_done_callback(_retrieve_exception)
        await asyncio.shield(self._reading)

    def _catch_up(self) -> None:
        """Update the memory from the rows."""
        begun = self._page.begun
        blocks.catch_up(self._chain)
        # Everything published until then: all that this process publishes from now on it has read since.
        self._begun = self._published_begun = begun

    def _publish_head(self, height: int, begins: bool) -> None:  # noqa: FBT001  # a hook of `BlockMemory`
        page = self._page
        if begins and self._is_published(height):
            self._published_begun = page.begun
            return
        publication = page.publish_head(height, begins, self._published_begun)
        if publication is None:
            return
        knew, self._published_begun = self._published_begun, publication.begun
        if publication.begun == knew and publication.version == self._version + 1:
            self._own = publication.version

    def _is_published(self, height: int) -> bool:
        """Return whether the other processes already know about a reset of this process to a height.

        Either this process follows another one that has published the rewind, or it has just started at the published head.
        """
        page = self._page
        follows = page.begun != self._published_begun
        return page.height == height and (follows or self._chain.memory.blocks.head is None)

    def _have_moved(self, height: int, begins: bool) -> None:  # noqa: FBT001  # likewise
        self._moved(height, begins)
        if self._own >= 0:
            self._version, self._own = self._own, -1

    def _publish_rewind(self) -> None:
        """Publish a rewind by this process; one with RPC interfaces has published it when its memory moved."""
        head = self._chain.memory.blocks.head
        if head is not None and not self._has_begun:
            self._publish_head(head.number, True)


def _resume(then: Then) -> None:
    """Let one request continue; its errors must not affect others that waited for the same read."""
    try:
        then()
    except STOP:
        raise
    except BaseException:  # any exception: a native extension that panics raises no `Exception`
        _log.exception("a request that waited for the head could not be continued")


def _retrieve_exception(read: asyncio.Future[None]) -> None:
    """Retrieve the exception of a read that may have no caller left waiting for it."""
    if not read.cancelled():
        read.exception()


def share_head(chain: EvmChain, data: Path) -> SharedHead | None:
    """Return the shared head of a chain with the machine's other processes; None if they share no memory.

    Args:
        chain: The chain.
        data: The node's data directory, which the processes share.
    """
    if not data.is_dir():  # nothing is initialised yet
        return None
    try:
        page = HeadPage.at(directory_of(data) / "head")
    except OSError as error:
        _log.warning(
            "the heads of other processes on this machine are only known from events: %s", error
        )
        return None
    return SharedHead(chain, page)
