"""Blocks that are being made or checked at this moment: what the health check calls outstanding.

Each process has a table of its own. In production, where blocks are made by other processes than
those that answer, each piece of work also has an entry in the shared cache, under one of a fixed
number of keys, so that all of them can be read at once.
"""

import itertools
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple
from zlib import crc32

from django.core.cache import cache

SLOTS = 128
"""Keys for each chain. Two threads of the node that get the same one hide each other: harmless, and
rare, since a chain has one maker of blocks at a time and the others wait for its lock."""

LIFETIME = 600
"""Seconds after which the entry of a process that was killed is forgotten."""

_log = logging.getLogger(__name__)


class _Work(NamedTuple):
    height: int
    began: float
    """Unix seconds, wall time: other machines read it."""


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
        self._observer: Observer | None = None
        self._numbers = itertools.count()
        self._table: dict[int, _Work] = {}
        self._begun = _Begun()

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
        work = _Work(height, time.time())
        number = next(self._numbers)
        self._begun.at = (height, time.monotonic())
        self._table[number] = work
        shared = None if self._is_alone else self._share(work)
        try:
            yield
        finally:
            del self._table[number]
            if shared is not None:
                _forget(shared)

    def outstanding(self) -> list[tuple[int, float]]:
        """Return height and age in seconds of the blocks that any process works on, oldest first."""
        found = list(self._table.copy().values()) if self._is_alone else self._shared()
        now = time.time()
        return [
            (work.height, max(0.0, now - work.began))
            for work in sorted(found, key=lambda work: work.began)
        ]

    def _share(self, work: _Work) -> str | None:
        key = self._key(_slot_of(os.getpid()))
        try:
            cache.set(key, tuple(work), LIFETIME)
        except Exception as error:  # whatever the cache says, the block is made
            _log.warning("the cache is away; a block in the making is not shown: %s", error)
            return None
        return key

    def _shared(self) -> list[_Work]:
        """Return what all processes are at.

        A cache that is away fails the question: the health check that asks has to say so.
        """
        found = cache.get_many([self._key(slot) for slot in range(SLOTS)])
        return [_Work(height, began) for height, began in found.values()]

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
