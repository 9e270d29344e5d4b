"""The RPC interfaces of this process, put together from the settings: methods, limits and gates.

Both HTTP doors and the WebSocket take them from here, so that they cannot differ.
"""

from functools import cache

from django.conf import settings
from django.core.exceptions import SynchronousOnlyOperation

from cchain_app.api import REGISTRY
from chaindb.connections import release
from chaindb.hotpath import WouldBlock
from jsonrpc.client_address import TrustedProxies
from jsonrpc.dialects import GETH
from jsonrpc.dispatch import Dispatcher, Limits
from jsonrpc.gate import GateConfig
from jsonrpc.http import Endpoint
from jsonrpc.throttle import LocalThrottle, Rate, Throttle
from jsonrpc.workers import Workers

CCHAIN_PATHS = ("/ext/bc/C/rpc",)

WAITING_CALLS = 4096
"""Calls that may wait for a thread before new ones are refused as overload."""


@cache
def cchain() -> Endpoint:
    """Return the C-Chain's interface: `/ext/bc/C/rpc`, and behind `/ext/bc/C/ws`."""
    node = settings.NODE
    limits = Limits(batch=node.batch_limit, response=node.response_limit)
    dispatcher = Dispatcher(
        REGISTRY, GETH, limits, would_block=(SynchronousOnlyOperation, WouldBlock)
    )
    return Endpoint(CCHAIN_PATHS, dispatcher, gate_config(), _throttle())


@cache
def gate_config() -> GateConfig:
    """Return what every door checks before it reads a body."""
    node = settings.NODE
    return GateConfig(
        allowed_hosts=node.allowed_hosts,
        cors_origins=node.allowed_origins,
        websocket_origins=node.allowed_origins,
        max_body=node.body_limit,
        proxies=TrustedProxies.of(*node.trusted_proxies),
    )


@cache
def workers() -> Workers:
    """Return the threads in which calls run that read the database or take long."""
    return Workers(settings.NODE.rpc_threads, WAITING_CALLS, after=release)


def _throttle() -> Throttle | None:
    """Return the limit of calls a second and IP: shared by all processes where there is Redis."""
    node = settings.NODE
    if not node.requests_per_second:
        return None
    rate = Rate(node.requests_per_second, node.requests_per_second)
    if node.profile != "production":
        return LocalThrottle(rate)
    # Only here: Redis' client takes a fifth of a second to import.
    from redis.asyncio import Redis

    from jsonrpc.redis_throttle import RedisThrottle

    return RedisThrottle(Redis.from_url(node.redis_url), rate)
