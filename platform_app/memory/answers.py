"""A cache of answers that depend only on the accepted state, valid while that state is unchanged.

A cached answer is returned without reading a row. It is therefore returned only while the chain is known to be
unchanged: for `OLDEST` seconds after the last check of the rows, because another process may have written, and not at
all while this process writes. Otherwise the rows are read.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from typing import Final, NamedTuple

from primitives.bounded_cache import BoundedCache, HitCounter

POLL_SECONDS: Final = 0.025
"""Seconds after a check of the rows until the next check is due."""
OLDEST: Final = 0.25
"""Seconds after a check during which answers are returned. A change by another process that was not announced is seen
after this time at the latest; wait this long to be sure that it is seen."""
BYTES: Final = 32 * 1024 * 1024
"""The total size of all cached answers, keys included."""
LONGEST: Final = 4 * 1024 * 1024
"""Bytes of the longest answer that is cached: 3,000 validators."""
ENTRIES: Final = 16_384
ARGUMENTS: Final = 4096
"""Bytes of the strings among the arguments of one answer: about 80 addresses."""
_ENTRY: Final = 512
"""Bytes that an entry takes besides its strings."""

Argument = str | bytes | int | Sequence[str | bytes] | None
Key = tuple[object, ...]


class ChainPosition(NamedTuple):
    """The chain's position and the clock offset: while they are the same, a query has the same answer."""

    genesis_hash: bytes
    block_id: bytes
    """The ID of the last accepted block."""
    generation: int
    """How many times the rows were replaced by earlier ones."""
    clock_offset: int
    """Seconds that the node's clock is ahead of wall time."""


class Lifetime(NamedTuple):
    """How long an answer stays valid while the chain does not change."""

    since: float = -inf
    until: float = inf
    """The node's time in Unix seconds: the answer is valid from `since` on, and before `until`."""
    seconds: float = inf
    """Seconds of validity after it was read."""


ALWAYS: Final = Lifetime()


class _Kept(NamedTuple):
    text: bytes
    lifetime: Lifetime
    end: float
    """The end of validity by the clock `elapsed`."""
    size: int
    """The approximate size of key and text in bytes."""


class _Standing:
    """A place of the chain, the time when the rows last confirmed it, and the answers cached for it."""

    __slots__ = ("answers", "place", "seen_at")

    def __init__(self, place: ChainPosition, seen_at: float, most_bytes: int) -> None:
        self.place = place
        self.seen_at = seen_at
        self.answers: BoundedCache[Key, _Kept] = BoundedCache(
            ENTRIES, most_weight=most_bytes, weigh=lambda _, kept: kept.size
        )


class AnswerMemory:
    """Answers by query, all for one place of the chain, evicted least recently used first. Thread-safe.

    Args:
        read: Reads the chain's current place from the rows; returns None if there is no chain.
        most_bytes: Maximum total bytes of all answers.
        longest: Maximum bytes of one answer.
        elapsed: A monotonic clock in seconds.
        wall: Wall time in Unix seconds.
    """

    def __init__(
        self,
        read: Callable[[], ChainPosition | None],
        *,
        most_bytes: int = BYTES,
        longest: int = LONGEST,
        elapsed: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._read = read
        self._most_bytes = most_bytes
        self._longest = longest
        self._elapsed = elapsed
        self._wall = wall
        self._lock = threading.Lock()
        self._standing: _Standing | None = None
        """Readers use it without the lock, so each place has its own object."""
        self._changes = 0
        """How many times this process started or ended a change of the rows, or heard of one by another process."""
        self._changing = 0
        """The number of changes in progress."""
        self.asked = HitCounter()

    def __len__(self) -> int:
        standing = self._standing
        return 0 if standing is None else len(standing.answers)

    @property
    def size(self) -> int:
        """Total bytes of all cached answers."""
        standing = self._standing
        return 0 if standing is None else standing.answers.weight

    def get(self, key: Key) -> bytes | None:
        """Return a cached answer, if it is known to be valid. Does not block."""
        standing = self._standing
        kept = None if standing is None else standing.answers.peek(key)
        if standing is None or kept is None or not self._is_right(standing, kept):
            self.asked.miss()
            return None
        standing.answers.touch(key)
        self.asked.hit()
        return kept.text

    def is_trusted(self) -> bool:
        """Return whether cached answers may be returned at this moment."""
        standing = self._standing
        return standing is not None and self._elapsed() - standing.seen_at < OLDEST

    def is_due(self) -> bool:
        """Return whether the rows should be checked, for the benefit of the next callers."""
        standing = self._standing
        return standing is not None and self._elapsed() - standing.seen_at >= POLL_SECONDS

    def look(self) -> ChainPosition | None:
        """Read the chain's place from a row, and drop the answers cached for another place.

        Returns:
            The place; None if there is no chain, or if the chain may have changed during the read.
        """
        changes, moment = self._changes, self._elapsed()
        place = self._read()
        with self._lock:
            if self._changing or self._changes != changes:
                return None
            if place is None:
                self._standing = None
            elif self._standing is None or self._standing.place != place:
                self._standing = _Standing(place, moment, self._most_bytes)
            else:
                self._standing.seen_at = max(self._standing.seen_at, moment)
            return place

    def read(self, key: Key, load: Callable[[], tuple[bytes, Lifetime]]) -> bytes:
        """Return the result of `load`, which reads the rows, and cache it if the chain did not change meanwhile."""
        before, moment = self._standing, self._elapsed()
        text, lifetime = load()
        if self.look() is not None:
            size = len(text) + _size(key)
            self._keep(key, _Kept(text, lifetime, moment + lifetime.seconds, size), before)
        return text

    def catch_up(self) -> None:
        """Drop cached answers older than rows just read. Call this before returning data from those rows."""
        if self.is_trusted():
            self.look()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Return no cached answers while this process changes the accepted state: wrap the whole transaction."""
        self._change(1)
        try:
            yield
        finally:
            self._change(-1)

    def accepted(self, block_id: bytes) -> None:
        """Record that a block was accepted, possibly by another process."""
        standing = self._standing
        if standing is None or standing.place.block_id != block_id:
            self._change(0)

    def _change(self, more: int) -> None:
        with self._lock:
            self._changing += more
            self._changes += 1
            self._standing = None

    def _keep(self, key: Key, kept: _Kept, before: _Standing | None) -> None:
        """Cache an answer, if the chain is at the same place as before the answer was read.

        If two checks find the same place, it did not change between them: a rewind changes the generation.
        """
        if kept.size > self._longest:
            return
        with self._lock:
            standing = self._standing
            if standing is not None and standing is before:
                standing.answers.put_newest(key, kept)

    def _is_right(self, standing: _Standing, kept: _Kept) -> bool:
        moment = self._elapsed()
        if moment - standing.seen_at >= OLDEST or moment >= kept.end:
            return False
        lifetime = kept.lifetime
        if lifetime.since == -inf and lifetime.until == inf:
            return True  # most answers: no need to read the clock
        return lifetime.since <= int(self._wall()) + standing.place.clock_offset < lifetime.until


def key_of(method: str, arguments: Sequence[object]) -> Key | None:
    """Return the cache key of an answer; None if the arguments are too long for caching."""
    key = (
        method,
        *(tuple(argument) if isinstance(argument, list) else argument for argument in arguments),
    )
    return key if _size(key) <= ARGUMENTS + _ENTRY else None


def _size(key: Key) -> int:
    """Return the approximate size of a key and its entry in bytes."""
    return _ENTRY + sum(map(_length, key))


def _length(part: object) -> int:
    if isinstance(part, tuple):
        return sum(map(_length, part))
    return len(part) if isinstance(part, str | bytes) else 8
