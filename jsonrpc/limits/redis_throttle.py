"""Buckets in Redis, shared by all processes of a node; the arithmetic is that of `throttle.Rate`.

While Redis is unavailable, each process counts separately.
"""

import logging
import time
from collections.abc import Callable
from typing import Final

from redis.asyncio import Redis
from redis.exceptions import RedisError

from jsonrpc.limits.throttle import LocalThrottle, Rate

_log: Final = logging.getLogger("jsonrpc")

_RETRY_SECONDS: Final = 5.0
"""Seconds without requests to Redis after a failure, because each attempt costs a timeout if its host is down."""

# Redis executes a script atomically, so two processes cannot spend the same token. The time is that of the Redis host.
# A bucket that is full again is deleted.
_TAKE: Final = """
local per_second, burst, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local clock = redis.call('TIME')
local now = tonumber(clock[1]) + tonumber(clock[2]) / 1000000
local bucket = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = tonumber(bucket[1]) or burst
local elapsed = math.max(0, now - (tonumber(bucket[2]) or now))
tokens = math.min(burst, tokens + elapsed * per_second)
local needed, wait = math.min(cost, burst), 0
if tokens >= needed then
  tokens = tokens - cost
else
  wait = (needed - tokens) / per_second
end
redis.call('HSET', KEYS[1], 'tokens', string.format('%.9f', tokens), 'at', string.format('%.6f', now))
redis.call('PEXPIRE', KEYS[1], math.ceil((burst - tokens) / per_second * 1000) + 1)
return string.format('%.9f', wait)
"""


class RedisThrottle:
    """A limit shared by several processes. `prefix` separates its keys from others."""

    def __init__(
        self,
        redis: Redis,
        rate: Rate,
        *,
        prefix: str = "throttle:",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.rate = rate
        self._redis = redis
        self._script = redis.register_script(_TAKE)
        self._prefix = prefix
        self._clock = clock
        self._local = LocalThrottle(rate, clock)
        self._away_until: float | None = None

    def take_now(self, key: str, cost: float) -> float | None:
        """Return None while Redis is available, because it has to be asked."""
        return self._local.take_now(key, cost) if self._is_away() else None

    async def take(self, key: str, cost: float) -> float:
        """Return 0 if the client may continue, else the seconds to wait before it tries again."""
        if self._is_away():
            return self._local.take_now(key, cost)
        arguments = [self.rate.per_second, self.rate.burst, cost]
        try:
            wait = await self._script(keys=[self._prefix + key], args=arguments)
        except (RedisError, OSError) as error:
            if self._away_until is None:
                _log.warning(
                    "Redis is unavailable: the rate limit applies to this process only (%s)", error
                )
            self._away_until = self._clock() + _RETRY_SECONDS
            return self._local.take_now(key, cost)
        if self._away_until is not None:
            _log.info("Redis is available again: the rate limit is shared by all processes")
            self._away_until = None
        return float(wait)

    async def close(self) -> None:
        """Close the connections; the buckets stay available to the other processes."""
        await self._redis.aclose()

    def _is_away(self) -> bool:
        return self._away_until is not None and self._clock() < self._away_until
