"""The limit of calls per second and IP on the EVM chains' interfaces (specification 8)."""

from jsonrpc.limits.throttle import LocalThrottle, Rate, Throttle
from nodeproject.settings.node import NodeSettings


def request_limit(node: NodeSettings) -> Throttle | None:
    """Return the limit of calls per second and IP: with Redis all processes share it."""
    if not node.requests_per_second:
        return None
    rate = Rate(node.requests_per_second, node.requests_per_second)
    if node.common.profile != "production":
        return LocalThrottle(rate)
    # Imported here because Redis' client takes a fifth of a second to import.
    from redis.asyncio import Redis
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff
    from redis.exceptions import ConnectionError  # Redis' own

    from chaindb.redis_cache import SECONDS
    from jsonrpc.limits.redis_throttle import RedisThrottle

    redis = Redis.from_url(
        node.redis_url,
        socket_timeout=SECONDS,
        socket_connect_timeout=SECONDS,
        retry=Retry(NoBackoff(), 1, (ConnectionError,)),
    )
    return RedisThrottle(redis, rate)
