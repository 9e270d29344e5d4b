"""Rate limits: a token bucket for each client, refilled continuously; and warnings that clients cannot repeat at will.

`client_address` determines the client; `redis_throttle` has buckets shared by several processes.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from primitives.bounded_cache import BoundedCache


class Bucket(NamedTuple):
    """The tokens left (negative for a debt) at a time of the clock."""

    tokens: float
    at: float


class Rate(NamedTuple):
    """`per_second` tokens are added each second, up to `burst` of them."""

    per_second: float
    burst: float

    def take(self, bucket: Bucket, now: float, cost: float) -> tuple[Bucket, float]:
        """Take `cost` tokens; return the bucket afterwards, and 0 or the seconds to wait.

        A refused request takes nothing. A request that costs more than a whole bucket is accepted when the
        bucket is full, and leaves a debt; otherwise it would always be refused.
        """
        elapsed = max(0.0, now - bucket.at)
        tokens = min(self.burst, bucket.tokens + elapsed * self.per_second)
        needed = min(cost, self.burst)
        if tokens >= needed:
            return Bucket(tokens - cost, now), 0.0
        return Bucket(tokens, now), (needed - tokens) / self.per_second


class Throttle(Protocol):
    """A limit for many clients."""

    def take_now(self, key: str, cost: float) -> float | None:
        """Take tokens without waiting, like `take`; return None if that is impossible."""

    async def take(self, key: str, cost: float) -> float:
        """Return 0 if the client may continue, else the seconds to wait before it tries again."""

    async def close(self) -> None:
        """Forget the clients in this process, and close the connections to shared storage."""


class LocalThrottle:
    """Buckets in this process's memory, of the `capacity` clients that asked last.

    A client that was forgotten starts with a full bucket.
    """

    def __init__(
        self,
        rate: Rate,
        clock: Callable[[], float] = time.monotonic,
        capacity: int = 100_000,
    ) -> None:
        self.rate = rate
        self._clock = clock
        self._buckets: BoundedCache[str, Bucket] = BoundedCache(capacity)
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._buckets)

    def take_now(self, key: str, cost: float) -> float:
        """Return 0 if the client may continue, else the seconds to wait before it tries again."""
        with self._lock:
            now = self._clock()
            bucket = self._buckets.peek(key) or Bucket(self.rate.burst, now)
            bucket, wait = self.rate.take(bucket, now, cost)
            self._buckets.put_newest(key, bucket)
            return wait

    async def take(self, key: str, cost: float) -> float:
        """Do the same as `take_now`."""
        return self.take_now(key, cost)

    async def close(self) -> None:
        """Forget all clients."""
        with self._lock:
            self._buckets.clear()


SILENCE_SECONDS: Final = 60.0
"""Seconds between two log lines about the same kind of event."""


class RecurringWarning:
    """Logs the first event, then one line per minute with the number of events since the last line.

    Args:
        log: The logger.
        clock: Seconds, monotonic.
    """

    def __init__(self, log: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._clock = clock
        self._next_line = clock()
        self._count = 0

    def log(self, text: str, *values: object) -> None:
        """Count an event, and log it if a line is due."""
        self._count += 1
        now = self._clock()
        if now < self._next_line:
            return
        self._log.warning(text + " (%d more since the last such message)", *values, self._count)
        self._next_line = now + SILENCE_SECONDS
        self._count = 0
