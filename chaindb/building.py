"""Blocks that are being built or verified now: the outstanding blocks of the health check.

Each process has its own table. In production the processes that build blocks are not those that
answer requests, so work that takes long also has an entry in the shared cache. There is a fixed
number of cache keys, so that one request reads all entries.
"""

import itertools
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import NamedTuple
from zlib import crc32

from django.core.cache import cache

SLOTS = 128
"""Keys for each chain. If two threads of the node get the same key, one hides the other. That is
harmless and rare, since a chain has one block builder at a time and the others wait for its lock."""

LIFETIME = 600
"""Seconds after which the entry of a killed process expires."""

SHARED_AFTER = 0.1
"""Seconds after which a block in progress is published to other processes. Most blocks are finished
by then, so that they never wait for the cache."""

IDLE = 10.0
"""Seconds without work after which the watcher thread ends: it would keep its whole node in memory."""

_log = logging.getLogger(__name__)


class _Work(NamedTuple):
    height: int
    began: float
    """Unix seconds, wall time, because other machines read it."""
    started: float
    """Seconds of the monotonic clock."""
    key: str
    """Key of the entry in the cache, if the work gets one."""


Observer = Callable[[float], object]
"""Takes the seconds from the start of work on a block until its commit."""


class _ThreadWork(threading.local):
    """The first height and the start time of the blocks that this thread works on."""

    at: tuple[int, float] | None = None


class BlocksInProgress:
    """The blocks of one chain that are in progress. Thread-safe.

    Args:
        name: Name of the chain in cache keys, unique among the chains of the node.
        profile: With `embedded` no other process builds blocks, and the cache is not used.
    """

    def __init__(self, name: str, profile: str) -> None:
        self._name = name
        self._is_alone = profile == "embedded"
        self.within: Callable[[], AbstractContextManager[None]] = nullcontext
        """Context manager that is entered while a block is built, or verified and accepted."""
        self._observer: Observer | None = None
        self._numbers = itertools.count()
        self._table: dict[int, _Work] = {}
        self._of_thread = _ThreadWork()
        self._shared_keys: dict[int, str] = {}
        """Cache keys of the blocks in the table that have an entry in the cache."""
        self._work_begins = threading.Event()
        self._watching = threading.Lock()
        self._watcher: threading.Thread | None = None

    def observe(self, observer: Observer | None) -> None:
        """Set the observer of the blocks that this process has built, or verified and accepted."""
        self._observer = observer

    def accepted(self, height: int) -> None:
        """Note that this thread has committed the blocks that it worked on, up to a height.

        Blocks that were accepted together share their time equally.
        """
        began, self._of_thread.at = self._of_thread.at, None
        if began is None or self._observer is None:
            return
        first, moment = began
        number = max(1, height - first + 1)
        share = (time.monotonic() - moment) / number
        for _ in range(number):
            self._observer(share)

    @contextmanager
    def count(self, height: int) -> Iterator[None]:
        """Count a block as outstanding while it is built, or verified and accepted."""
        number, started = next(self._numbers), time.monotonic()
        self._of_thread.at = (height, started)
        key = self._key(_slot_of(os.getpid()))
        self._table[number] = _Work(height, time.time(), started, key)
        try:
            if not self._is_alone:
                self._watch()
            with self.within():
                yield
        finally:
            # If no block was committed, this thread's next work must not count as part of it.
            self._of_thread.at = None
            del self._table[number]
            self._unshare(number)

    def outstanding(self) -> list[tuple[int, float]]:
        """Return height and age in seconds of the blocks in progress in any process, oldest first."""
        blocks = [] if self._is_alone else self._of_others()
        blocks += [(work.height, work.began) for work in self._table.copy().values()]
        now = time.time()
        return [
            (height, max(0.0, now - began))
            for height, began in sorted(blocks, key=lambda entry: entry[1])
        ]

    def _watch(self) -> None:
        """Ensure that the watcher thread runs, which publishes work that takes long."""
        self._work_begins.set()
        with self._watching:
            if self._watcher is None or not self._watcher.is_alive():  # or the process was forked
                work, name = self._share_long_work, f"building-{self._name}"
                self._watcher = threading.Thread(target=work, name=name, daemon=True)
                self._watcher.start()

    def _share_long_work(self) -> None:
        while not self._is_idle():
            self._work_begins.clear()
            while self._table:
                time.sleep(SHARED_AFTER)
                latest = time.monotonic() - SHARED_AFTER
                for number, work in self._table.copy().items():
                    if work.started <= latest and number not in self._shared_keys:
                        self._share(number, work)

    def _is_idle(self) -> bool:
        """Wait for work. Return whether none came for `IDLE` seconds; new work then starts a new thread."""
        if self._work_begins.wait(IDLE):
            return False
        with self._watching:
            if self._work_begins.is_set():
                return False
            self._watcher = None
            return True

    def _share(self, number: int, work: _Work) -> None:
        self._shared_keys[number] = work.key
        try:
            cache.set(work.key, (work.height, work.began), LIFETIME)
        except Exception as error:  # a failing cache must not stop the block
            _log.warning("the cache is unavailable; a block in progress is not shown: %s", error)
        if number not in self._table:
            # The work has ended meanwhile, possibly before the entry that it deletes was written.
            self._shared_keys.pop(number, None)
            _forget(work.key)

    def _unshare(self, number: int) -> None:
        key = self._shared_keys.pop(number, None)
        if key is not None:
            _forget(key)

    def _of_others(self) -> list[tuple[int, float]]:
        """Return height and start time of the blocks that other processes have published.

        An unreachable cache raises an error, because the health check has to report it.
        """
        own = set(self._shared_keys.copy().values())
        keys = [key for slot in range(SLOTS) if (key := self._key(slot)) not in own]
        return list(cache.get_many(keys).values())

    def _key(self, slot: int) -> str:
        return f"building-{self._name}-{slot}"


def _forget(key: str) -> None:
    try:
        cache.delete(key)
    except Exception as error:  # a failing cache must not stop the block
        _log.warning(
            "the cache is unavailable; a finished block is shown until its entry expires: %s", error
        )


def _slot_of(pid: int) -> int:
    """Return the slot of this thread of a process. Two threads may have the same slot."""
    return crc32(f"{_HOST}.{pid}.{threading.get_ident()}".encode()) % SLOTS


_HOST = socket.gethostname()
