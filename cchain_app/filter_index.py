"""Which polled filters exist, to which client they belong, and which are evicted when there are too many.

A filter's weight is the memory that it uses. When the total weight is too large, the client with the heaviest
filters loses the filter that it has not polled for the longest time. So a client that creates filters by the
thousand loses its own. An index does not know the filters themselves. Several processes share the one in Redis.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from redis import Redis

Seconds = float

FILTERS: Final = "filters"
"""The alias of Django's cache that holds polled filters."""


class FilterIndex(Protocol):
    """The existing filters, by client."""

    def put(self, client: str, filter_id: int, weight: int) -> list[int]:
        """Add a filter that was just created or polled, and return the filters that it evicts."""

    def remove(self, client: str, filter_id: int) -> None:
        """Forget a filter, if it exists."""


class MemoryIndex:
    """The index of a single process.

    Args:
        most: Highest total weight of all filters.
        lifetime: Seconds without a poll after which a filter expires.
        clock: Returns the time in seconds.
    """

    def __init__(
        self, most: int, lifetime: Seconds, clock: Callable[[], Seconds] = time.time
    ) -> None:
        self._most = most
        self._lifetime = lifetime
        self._clock = clock
        self._lock = threading.Lock()
        self._polled: OrderedDict[tuple[str, int], Seconds] = OrderedDict()
        """When each filter was created or last polled, oldest first."""
        self._of: dict[str, OrderedDict[int, int]] = {}
        """The weights of a client's filters, in the same order."""
        self._weights: dict[str, int] = {}
        """The total weight of each client's filters."""
        self._total = 0

    def __len__(self) -> int:
        return len(self._polled)

    def put(self, client: str, filter_id: int, weight: int) -> list[int]:
        """Add a filter that was just created or polled, and return the filters that it evicts."""
        with self._lock:
            self._forget(client, filter_id)
            self._forget_expired()
            self._polled[client, filter_id] = self._clock()
            self._of.setdefault(client, OrderedDict())[filter_id] = weight
            self._weights[client] = self._weights.get(client, 0) + weight
            self._total += weight
            evicted = []
            while self._total > self._most:
                heaviest = self._heaviest()
                oldest = next(iter(self._of[heaviest]))
                self._forget(heaviest, oldest)
                evicted.append(oldest)
            return evicted

    def remove(self, client: str, filter_id: int) -> None:
        """Forget a filter, if it exists."""
        with self._lock:
            self._forget(client, filter_id)

    def _heaviest(self) -> str:
        """Return the client with the largest weight; among equals the last by name, like Redis' order."""
        most = max(self._weights.values())
        return max(client for client, weight in self._weights.items() if weight == most)

    def _forget_expired(self) -> None:
        gone = self._clock() - self._lifetime
        while self._polled:
            (client, filter_id), polled = next(iter(self._polled.items()))
            if polled > gone:
                return
            self._forget(client, filter_id)

    def _forget(self, client: str, filter_id: int) -> None:
        if self._polled.pop((client, filter_id), None) is None:
            return
        weight = self._of[client].pop(filter_id)
        self._weights[client] -= weight
        self._total -= weight
        if not self._of[client]:
            del self._of[client], self._weights[client]


# Redis runs one script as one step, so no two processes evict for the same filter. Members are the
# client's key and the ID, which has 32 digits. The time is that of the Redis host.
_COMMON: Final = """
local prefix = KEYS[1]
local polled, weights, heavy = prefix .. 'polled', prefix .. 'weights', prefix .. 'clients'
local total = prefix .. 'total'
local function forget(member)
  local weight = redis.call('HGET', weights, member)
  if not weight then return end
  local client = member:sub(1, -34)
  redis.call('HDEL', weights, member)
  redis.call('ZREM', polled, member)
  redis.call('ZREM', prefix .. 'of:' .. client, member)
  redis.call('DECRBY', total, weight)
  if tonumber(redis.call('ZINCRBY', heavy, -weight, client)) <= 0 then
    redis.call('ZREM', heavy, client)
  end
end
"""
_PUT: Final = (
    _COMMON
    + """
local client, id, weight = ARGV[1], ARGV[2], tonumber(ARGV[3])
local most, lifetime = tonumber(ARGV[4]), tonumber(ARGV[5])
local member, clock = client .. ' ' .. id, redis.call('TIME')
local now = tonumber(clock[1]) + tonumber(clock[2]) / 1000000
forget(member)
for _, one in ipairs(redis.call('ZRANGEBYSCORE', polled, '-inf', now - lifetime)) do
  forget(one)
end
redis.call('ZADD', polled, now, member)
redis.call('ZADD', prefix .. 'of:' .. client, now, member)
redis.call('HSET', weights, member, weight)
redis.call('ZINCRBY', heavy, weight, client)
redis.call('INCRBY', total, weight)
local evicted = {}
while tonumber(redis.call('GET', total)) > most do
  local heaviest = redis.call('ZREVRANGE', heavy, 0, 0)[1]
  local oldest = redis.call('ZRANGE', prefix .. 'of:' .. heaviest, 0, 0)[1]
  forget(oldest)
  evicted[#evicted + 1] = oldest:sub(-32)
end
return evicted
"""
)
_REMOVE: Final = _COMMON + "forget(ARGV[1] .. ' ' .. ARGV[2])"


class RedisIndex:
    """The index that all processes of a node share. `prefix` separates its keys from other keys in Redis."""

    def __init__(self, redis: "Redis", most: int, lifetime: Seconds, prefix: str) -> None:
        self._put = redis.register_script(_PUT)
        self._remove = redis.register_script(_REMOVE)
        self._limits = (most, lifetime)
        self._keys = [prefix]

    def put(self, client: str, filter_id: int, weight: int) -> list[int]:
        """Add a filter that was just created or polled, and return the filters that it evicts."""
        arguments: list[str | float] = [client, f"{filter_id:032x}", weight, *self._limits]
        return [int(item, 16) for item in self._put(keys=self._keys, args=arguments)]

    def remove(self, client: str, filter_id: int) -> None:
        """Forget a filter, if it exists."""
        self._remove(keys=self._keys, args=[client, f"{filter_id:032x}"])


def redis_index(cache: Mapping[str, Any], prefix: str, limit: int, lifetime: Seconds) -> RedisIndex:
    """Return the index that all processes share, on the server of a cache of Django's settings."""
    # Imported here because Redis' client takes a fifth of a second to import.
    from redis import Redis

    redis = Redis.from_url(cache["LOCATION"], **cache.get("OPTIONS", {}))
    return RedisIndex(redis, limit, lifetime, prefix)
