"""How often a client may ask: a bucket of tokens for each, refilled smoothly.

Whose bucket it is says `client_address`; buckets that several processes share are in
`redis_throttle`.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple, Protocol


class Bucket(NamedTuple):
    """Tokens left (below zero: a debt) at a time of the clock."""

    tokens: float
    at: float


class Rate(NamedTuple):
    """`per_second` tokens come back each second, up to `burst` of them."""

    per_second: float
    burst: float

    def take(self, bucket: Bucket, now: float, cost: float) -> tuple[Bucket, float]:
        """Take `cost` tokens: the bucket afterwards, and 0 or the seconds to wait.

        A refused request takes nothing. One that costs more than a whole bucket is let through
        when the bucket is full, and leaves a debt: refusing it would be refusing it for ever.
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
        """Like `take`, without waiting for anybody; None if that cannot be said at once."""

    async def take(self, key: str, cost: float) -> float:
        """0 if the client may go on, else the seconds to wait before it tries again."""

    async def close(self) -> None:
        """Forget the clients that this process keeps, and close the connections to those who keep them."""


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
        self._capacity = capacity
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._buckets)

    def take_now(self, key: str, cost: float) -> float:
        """0 if the client may go on, else the seconds to wait before it tries again."""
        with self._lock:
            now = self._clock()
            bucket = self._buckets.pop(key, None) or Bucket(self.rate.burst, now)
            self._buckets[key], wait = self.rate.take(bucket, now, cost)
            if len(self._buckets) > self._capacity:
                self._buckets.popitem(last=False)
            return wait

    async def take(self, key: str, cost: float) -> float:
        """The same as `take_now`."""
        return self.take_now(key, cost)

    async def close(self) -> None:
        """Forget all clients."""
        with self._lock:
            self._buckets.clear()
