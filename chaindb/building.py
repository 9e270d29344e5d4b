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

from django.conf import settings
from django.core.cache import cache

from chaindb.chains import Chain

SLOTS = 128
"""Keys for each chain. Two threads of the node that get the same one hide each other: harmless, and
rare, since a chain has one maker of blocks at a time and the others wait for its lock."""

LIFETIME = 600
"""Seconds after which the entry of a process that was killed is forgotten."""

_log = logging.getLogger(__name__)


class _Work(NamedTuple):
    chain: Chain
    height: int
    began: float
    """Unix seconds, wall time: other machines read it."""


Observer = Callable[[Chain, float], object]
"""Takes a chain, and the seconds that one of its blocks was worked on until it was committed."""

_observer: Observer | None = None

_numbers = itertools.count()
_table: dict[int, _Work] = {}


class _Begun(threading.local):
    """When this thread began with the blocks that it works on, by chain: height and seconds."""

    def __init__(self) -> None:
        self.of: dict[Chain, tuple[int, float]] = {}


_begun = _Begun()


def observe(observer: Observer | None) -> None:
    """Tell somebody in this process of each block that it has made, or checked and accepted."""
    global _observer  # noqa: PLW0603  # one for each process
    _observer = observer


def accepted(chain: Chain, height: int) -> None:
    """Note that blocks were committed, up to a height, by the thread that has worked on them.

    Several that were accepted together share their time.
    """
    begun = _begun.of.pop(chain, None)
    if begun is None or _observer is None:
        return
    first, moment = begun
    number = max(1, height - first + 1)
    share = (time.monotonic() - moment) / number
    for _ in range(number):
        _observer(chain, share)


@contextmanager
def building(chain: Chain, height: int) -> Iterator[None]:
    """Count a block as outstanding while it is made, or checked and accepted."""
    work = _Work(chain, height, time.time())
    number = next(_numbers)
    _begun.of[chain] = (height, time.monotonic())
    _table[number] = work
    shared = None if settings.NODE.profile == "embedded" else _share(work)
    try:
        yield
    finally:
        del _table[number]
        if shared is not None:
            _forget(shared)


def outstanding(chain: Chain) -> list[tuple[int, float]]:
    """Return height and age in seconds of the blocks that any process works on, oldest first."""
    found = list(_table.copy().values()) if settings.NODE.profile == "embedded" else _shared(chain)
    now = time.time()
    return [
        (work.height, max(0.0, now - work.began))
        for work in sorted(found, key=lambda work: work.began)
        if work.chain == chain
    ]


def _share(work: _Work) -> str | None:
    key = _key(work.chain, _slot_of(os.getpid()))
    try:
        cache.set(key, (work.height, work.began), LIFETIME)
    except Exception as error:  # whatever the cache says, the block is made
        _log.warning("the cache is away; a block in the making is not shown: %s", error)
        return None
    return key


def _forget(key: str) -> None:
    try:
        cache.delete(key)
    except Exception as error:  # as above
        _log.warning("the cache is away; a finished block is shown a while: %s", error)


def _shared(chain: Chain) -> list[_Work]:
    """Return what all processes are at.

    A cache that is away fails the question: the health check that asks has to say so.
    """
    found = cache.get_many([_key(chain, slot) for slot in range(SLOTS)])
    return [_Work(chain, height, began) for height, began in found.values()]


def _slot_of(pid: int) -> int:
    """Return the slot of a process for this thread; two may have the same one."""
    return crc32(f"{_HOST}.{pid}.{threading.get_ident()}".encode()) % SLOTS


def _key(chain: Chain, slot: int) -> str:
    return f"building-{chain}-{slot}"


_HOST = socket.gethostname()
