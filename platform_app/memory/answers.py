"""A cache of answers that depend only on the accepted state, valid while that state is unchanged.

A cached answer is returned without reading a row, so it is returned only while the chain is known to be unchanged.
Another process may write at any time, so an answer is returned for at most `MAX_AGE` seconds after the last check of
the rows. While this process writes, no cached answer is returned. Otherwise the rows are read.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from typing import Final, NamedTuple

from primitives.bounded_cache import BoundedCache, HitCounter

POLL_SECONDS: Final = 0.125
"""Seconds after a check of the rows until the next check is due. The thread that checks interrupts the event loop a few
times, so frequent checks cost answers; `MAX_AGE` leaves time for a check on a busy machine."""
MAX_AGE: Final = 0.25
"""Seconds after a check during which cached answers are returned. An unannounced change by another process is seen at
the latest after this time."""
MAX_TOTAL_BYTES: Final = 32 * 1024 * 1024
"""The total size of all cached answers, keys included."""
MAX_ANSWER_BYTES: Final = 4 * 1024 * 1024
"""Maximum bytes of a cached answer, enough for 3,000 validators."""
MAX_ENTRIES: Final = 16_384
MAX_ARGUMENT_BYTES: Final = 4096
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
NEVER: Final = Lifetime(seconds=0)
"""Of an answer that depends on more than this chain's accepted state."""


class _CachedAnswer(NamedTuple):
    text: bytes
    lifetime: Lifetime
    end: float
    """The end of validity by the clock `elapsed`."""
    size: int
    """The approximate size of key and text in bytes."""


class _PositionAnswers:
    """A position of the chain, the time of the last check that found it in the rows, and the answers cached for it."""

    __slots__ = ("answers", "checked_at", "position")

    def __init__(self, position: ChainPosition, checked_at: float, max_bytes: int) -> None:
        self.position = position
        self.checked_at = checked_at
        self.answers: BoundedCache[Key, _CachedAnswer] = BoundedCache(
            MAX_ENTRIES, most_weight=max_bytes, weigh=lambda _, cached: cached.size
        )


class AnswerMemory:
    """Answers by query, all for one position of the chain, the least recently used one evicted first. Thread-safe.

    Args:
        read: Reads the chain's current position from the rows; returns None if there is no chain.
        max_bytes: Maximum total bytes of all answers.
        max_answer_bytes: Maximum bytes of one answer.
        elapsed: A monotonic clock in seconds.
        wall: Wall time in Unix seconds.
    """

    def __init__(
        self,
        read: Callable[[], ChainPosition | None],
        *,
        max_bytes: int = MAX_TOTAL_BYTES,
        max_answer_bytes: int = MAX_ANSWER_BYTES,
        elapsed: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._read = read
        self._max_bytes = max_bytes
        self._max_answer_bytes = max_answer_bytes
        self._elapsed = elapsed
        self._wall = wall
        self._lock = threading.Lock()
        self._current: _PositionAnswers | None = None
        """Readers use it without the lock, so each position has its own object."""
        self._changes = 0
        """How many times this process started or ended a change of the rows, or heard of one by another process."""
        self._changing = 0
        """The number of changes in progress."""
        self.asked = HitCounter()

    def __len__(self) -> int:
        current = self._current
        return 0 if current is None else len(current.answers)

    @property
    def size(self) -> int:
        """Total bytes of all cached answers."""
        current = self._current
        return 0 if current is None else current.answers.weight

    def get(self, key: Key) -> bytes | None:
        """Return a cached answer, if it is known to be valid. Does not block."""
        current = self._current
        cached = None if current is None else current.answers.peek(key)
        if current is None or cached is None or not self._is_valid(current, cached):
            self.asked.miss()
            return None
        current.answers.touch(key)
        self.asked.hit()
        return cached.text

    def is_trusted(self) -> bool:
        """Return whether cached answers may be returned at this moment."""
        current = self._current
        return current is not None and self._elapsed() - current.checked_at < MAX_AGE

    def is_due(self) -> bool:
        """Return whether the rows should be checked, so that the next callers find cached answers."""
        current = self._current
        return current is not None and self._elapsed() - current.checked_at >= POLL_SECONDS

    def check_rows(self) -> ChainPosition | None:
        """Read the chain's position from a row, and drop the answers cached for another position.

        Returns:
            The position; None if there is no chain, or if the chain may have changed during the read.
        """
        changes, moment = self._changes, self._elapsed()
        position = self._read()
        with self._lock:
            if self._changing or self._changes != changes:
                return None
            if position is None:
                self._current = None
            elif self._current is None or self._current.position != position:
                self._current = _PositionAnswers(position, moment, self._max_bytes)
            else:
                self._current.checked_at = max(self._current.checked_at, moment)
            return position

    def read(self, key: Key, load: Callable[[], tuple[bytes, Lifetime]]) -> bytes:
        """Return the result of `load`, which reads the rows, and cache it if the chain did not change meanwhile."""
        before, moment = self._current, self._elapsed()
        text, lifetime = load()
        if self.check_rows() is not None and lifetime.seconds > 0:
            size = len(text) + _size(key)
            self._store(key, _CachedAnswer(text, lifetime, moment + lifetime.seconds, size), before)
        return text

    def catch_up(self) -> None:
        """Drop cached answers older than rows just read. Call this before returning data from those rows."""
        if self.is_trusted():
            self.check_rows()

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
        current = self._current
        if current is None or current.position.block_id != block_id:
            self._change(0)

    def _change(self, more: int) -> None:
        with self._lock:
            self._changing += more
            self._changes += 1
            self._current = None

    def _store(self, key: Key, cached: _CachedAnswer, before: _PositionAnswers | None) -> None:
        """Cache an answer, if the chain is at the same position as before the answer was read.

        If two checks find the same position, it did not change between them: a rewind changes the generation.
        """
        if cached.size > self._max_answer_bytes:
            return
        with self._lock:
            current = self._current
            if current is not None and current is before:
                current.answers.put_newest(key, cached)

    def _is_valid(self, current: _PositionAnswers, cached: _CachedAnswer) -> bool:
        moment = self._elapsed()
        if moment - current.checked_at >= MAX_AGE or moment >= cached.end:
            return False
        lifetime = cached.lifetime
        if lifetime.since == -inf and lifetime.until == inf:
            return True  # most answers: no need to read the clock
        return lifetime.since <= int(self._wall()) + current.position.clock_offset < lifetime.until


def key_of(method: str, arguments: Sequence[object]) -> Key | None:
    """Return the cache key of an answer; None if the arguments are too long for caching."""
    key = (
        method,
        *(tuple(argument) if isinstance(argument, list) else argument for argument in arguments),
    )
    return key if _size(key) <= MAX_ARGUMENT_BYTES + _ENTRY else None


def _size(key: Key) -> int:
    """Return the approximate size of a key and its entry in bytes."""
    return _ENTRY + sum(map(_length, key))


def _length(part: object) -> int:
    if isinstance(part, tuple):
        return sum(map(_length, part))
    return len(part) if isinstance(part, str | bytes) else 8
