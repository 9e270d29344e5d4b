"""Blocks that are being made or checked at this moment: what the health check calls outstanding.

Each process has a table of its own. In production, where blocks are made by other processes than
those that answer, work that lasts also has an entry in the shared cache, under one of a fixed number of
keys, so that all of them can be read at once.
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
"""Keys for each chain. Two threads of the node that get the same one hide each other: harmless, and
rare, since a chain has one maker of blocks at a time and the others wait for its lock."""

LIFETIME = 600
"""Seconds after which the entry of a process that was killed is forgotten."""

SHARED_AFTER = 0.1
"""Seconds after which others hear of a block in the making. Most are made by then, and nobody waits for the cache."""

IDLE = 10.0
"""Seconds without work after which the thread that looks after it ends: it would keep all of its node in memory."""

_log = logging.getLogger(__name__)


class _Work(NamedTuple):
    height: int
    began: float
    """Unix seconds, wall time: other machines read it."""
    started: float
    """Seconds, by the monotonic clock."""
    key: str
    """Of its entry in the cache, if it comes to that."""


Observer = Callable[[float], object]
"""Takes the seconds that a block was worked on until it was committed."""


class _Begun(threading.local):
    """When this thread began with the blocks that it works on: height and seconds."""

    at: tuple[int, float] | None = None


class Building:
    """The blocks of one chain that are in the making. Threads share it.

    Args:
        name: The chain's, in keys of the cache; no other chain of the node has it.
        profile: Where it is `embedded` no other process makes blocks, and the cache is left alone.
    """

    def __init__(self, name: str, profile: str) -> None:
        self._name = name
        self._is_alone = profile == "embedded"
        self.within: Callable[[], AbstractContextManager[None]] = nullcontext
        """Is entered while a block is made, or checked and accepted."""
        self._observer: Observer | None = None
        self._numbers = itertools.count()
        self._table: dict[int, _Work] = {}
        self._begun = _Begun()
        self._shared_keys: dict[int, str] = {}
        """Of the table's, what has an entry in the cache."""
        self._work_begins = threading.Event()
        self._watching = threading.Lock()
        self._watcher: threading.Thread | None = None

    def observe(self, observer: Observer | None) -> None:
        """Tell somebody in this process of each block that it has made, or checked and accepted."""
        self._observer = observer

    def accepted(self, height: int) -> None:
        """Note that blocks were committed, up to a height, by the thread that has worked on them.

        Several that were accepted together share their time.
        """
        begun, self._begun.at = self._begun.at, None
        if begun is None or self._observer is None:
            return
        first, moment = begun
        number = max(1, height - first + 1)
        share = (time.monotonic() - moment) / number
        for _ in range(number):
            self._observer(share)

    @contextmanager
    def count(self, height: int) -> Iterator[None]:
        """Count a block as outstanding while it is made, or checked and accepted."""
        number, started = next(self._numbers), time.monotonic()
        self._begun.at = (height, started)
        key = self._key(_slot_of(os.getpid()))
        self._table[number] = _Work(height, time.time(), started, key)
        try:
            if not self._is_alone:
                self._watch()
            with self.within():
                yield
        finally:
            # If it came to nothing, what this thread does next is no part of it.
            self._begun.at = None
            del self._table[number]
            self._unshare(number)

    def outstanding(self) -> list[tuple[int, float]]:
        """Return height and age in seconds of the blocks that any process works on, oldest first."""
        found = [] if self._is_alone else self._of_others()
        found += [(work.height, work.began) for work in self._table.copy().values()]
        now = time.time()
        return [
            (height, max(0.0, now - began))
            for height, began in sorted(found, key=lambda one: one[1])
        ]

    def _watch(self) -> None:
        """See that somebody looks after a moment whether this work still goes on."""
        self._work_begins.set()
        with self._watching:
            if self._watcher is None or not self._watcher.is_alive():  # or its process was forked
                work, name = self._share_what_lasts, f"building-{self._name}"
                self._watcher = threading.Thread(target=work, name=name, daemon=True)
                self._watcher.start()

    def _share_what_lasts(self) -> None:
        while not self._is_idle():
            self._work_begins.clear()
            while self._table:
                time.sleep(SHARED_AFTER)
                latest = time.monotonic() - SHARED_AFTER
                for number, work in self._table.copy().items():
                    if work.started <= latest and number not in self._shared_keys:
                        self._share(number, work)

    def _is_idle(self) -> bool:
        """Wait for work, and say whether there was none for long: then the next one begins with a thread of its own."""
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
        except Exception as error:  # whatever the cache says, the block is made
            _log.warning("the cache is away; a block in the making is not shown: %s", error)
        if number not in self._table:
            # It has ended meanwhile, and what it forgot may not have been there yet.
            self._shared_keys.pop(number, None)
            _forget(work.key)

    def _unshare(self, number: int) -> None:
        key = self._shared_keys.pop(number, None)
        if key is not None:
            _forget(key)

    def _of_others(self) -> list[tuple[int, float]]:
        """Return height and beginning of what other processes have shared.

        A cache that is away fails the question: the health check that asks has to say so.
        """
        own = set(self._shared_keys.copy().values())
        keys = [key for slot in range(SLOTS) if (key := self._key(slot)) not in own]
        return list(cache.get_many(keys).values())

    def _key(self, slot: int) -> str:
        return f"building-{self._name}-{slot}"


def _forget(key: str) -> None:
    try:
        cache.delete(key)
    except Exception as error:  # as above
        _log.warning("the cache is away; a finished block is shown a while: %s", error)


def _slot_of(pid: int) -> int:
    """Return the slot of a process for this thread; two may have the same one."""
    return crc32(f"{_HOST}.{pid}.{threading.get_ident()}".encode()) % SLOTS


_HOST = socket.gethostname()
