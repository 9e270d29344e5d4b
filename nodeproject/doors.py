"""The RPC interfaces of this process, put together from the settings: methods, limits and gates.

Both HTTP doors and the WebSocket take them from here, so that they cannot differ.
"""

from functools import cache, partial

from django.conf import settings
from django.core.exceptions import SynchronousOnlyOperation

from cchain_app import api as cchain_api
from cchain_app.api.loop_gas import one_request
from cchain_app.apps import evm_chain
from chaindb import servers
from chaindb.chains import Chain
from chaindb.connections import release
from chaindb.hotpath import WouldBlock
from health_app.api import HealthApi
from info_app import api as info_api
from info_app.api.node import OwnNode
from info_app.identity import IdentityFiles
from info_app.version import vm_versions
from jsonrpc.client_address import TrustedProxies
from jsonrpc.connections import Connections
from jsonrpc.dialects import GETH, GORILLA
from jsonrpc.dispatch import Dispatcher, Limits
from jsonrpc.gate import GateConfig
from jsonrpc.http import Endpoint
from jsonrpc.interpreter import Interpreter
from jsonrpc.memory import MemoryLimits, RequestMemory
from jsonrpc.registry import MethodRegistry
from jsonrpc.throttle import LocalThrottle, Rate, Throttle
from jsonrpc.workers import Workers
from nodeproject import observation
from nodeproject.process import connection_limits
from nodeproject.rpc import evm_rpc, platform_rpc, turn
from platform_app import api as platform_api
from platform_app.api import keystore as keystore_api
from platform_app.api import xchain as xchain_api
from platform_app.api.own_node import own_node_id
from platform_app.apps import platform_chain
from primitives.ids import PRIMARY_NETWORK_ID

CCHAIN_PATHS = ("/ext/bc/C/rpc",)
CCHAIN_WEBSOCKET = "/ext/bc/C/ws"
"""The only path of WebSockets."""
PLATFORM_PATHS = (
    "/ext/P",
    "/ext/bc/P",
    "/ext/platform",
    "/ext/bc/platform",
    f"/ext/bc/{PRIMARY_NETWORK_ID}",
)
KEYSTORE_PATHS = ("/ext/keystore",)
XCHAIN_PATHS = ("/ext/bc/X",)
INFO_PATHS = ("/ext/info",)
HEALTH_PATHS = ("/ext/health",)

HOST_HINT = (
    "NODE_ALLOWED_HOSTS lists the names by which this node may be asked; IP addresses always may"
)

WAITING_CALLS = 4096
"""Calls that may wait for a thread before new ones are refused as overload."""


@cache
def cchain() -> Endpoint:
    """Return the C-Chain's interface: `/ext/bc/C/rpc`, and behind `/ext/bc/C/ws`.

    The only one with a limit of requests (specification 8).
    """
    node = settings.NODE
    limits = Limits(batch=node.batch_limit, response=node.response_limit)
    dispatcher = Dispatcher(
        cchain_api.registry(evm_rpc()),
        GETH,
        limits,
        would_block=(SynchronousOnlyOperation, WouldBlock),
        one_request=one_request,
        observer=observation.metrics().tally("C").observe,
        inflight=observation.metrics().inflight,
        outage=servers.away,
        turn=turn(),
        interpreter=interpreter(),
    )
    replies = observation.metrics().replies_of("C")
    return Endpoint(CCHAIN_PATHS, dispatcher, gate_config(), _throttle(), replies=replies)


@cache
def platform() -> Endpoint:
    """Return the P-Chain's interface: `/ext/P`, `/ext/bc/P` and their aliases."""
    return _by_name("P", PLATFORM_PATHS, platform_api.registry(platform_rpc()))


@cache
def keystore() -> Endpoint:
    """Return the interface to the node's keystore: `/ext/keystore`."""
    return _by_name("keystore", KEYSTORE_PATHS, keystore_api.registry(platform_rpc()))


@cache
def xchain() -> Endpoint:
    """Return what there is of the X-Chain's interface: `/ext/bc/X`."""
    return _by_name("X", XCHAIN_PATHS, xchain_api.registry(platform_rpc()))


@cache
def info() -> Endpoint:
    """Return the interface to what this node says of itself: `/ext/info`."""
    files = IdentityFiles(partial(own_node_id, platform_chain()), settings.NODE.signer_path)
    own = OwnNode(files, vm_versions(evm_chain().engine.name))
    return _by_name("info", INFO_PATHS, info_api.methods(own))


@cache
def health() -> Endpoint:
    """Return the interface to health reports: POST on `/ext/health`; GET is in `plain`."""
    return _by_name("health", HEALTH_PATHS, HealthApi(observation.reporter()).methods())


def endpoints() -> list[Endpoint]:
    """Return all JSON-RPC interfaces of this process."""
    return [*of_cchain(), platform(), keystore(), xchain(), info(), health()]


def of_cchain() -> list[Endpoint]:
    """Return the C-Chain's interface, or none where this node does not take part in that chain."""
    return [cchain()] if Chain.C.is_here else []


def absent() -> dict[str, str]:
    """Return what is said at the paths of a chain that this node does not take part in.

    Unspecified: the reference knows no such paths then, and answers 404; this answers 404 with the reason.
    """
    if Chain.C.is_here:
        return {}
    return dict.fromkeys((*CCHAIN_PATHS, CCHAIN_WEBSOCKET), Chain.C.absence)


@cache
def gate_config() -> GateConfig:
    """Return what every door checks before it reads a body."""
    node = settings.NODE
    return GateConfig(
        allowed_hosts=node.allowed_hosts,
        host_hint=HOST_HINT,
        cors_origins=node.allowed_origins,
        websocket_origins=node.allowed_origins,
        max_body=node.body_limit,
        proxies=TrustedProxies.of(*node.trusted_proxies),
        node_id=str(own_node_id(platform_chain()) or ""),
    )


@cache
def workers() -> Workers:
    """Return the threads in which calls run that read the database or take long."""
    return Workers(settings.NODE.rpc_threads, WAITING_CALLS, after=release)


@cache
def interpreter() -> Interpreter:
    """Return what the calls of all interfaces in threads may take of this process' interpreter."""
    return Interpreter()


@cache
def memory() -> RequestMemory:
    """Return what the requests of this process may hold together, at all its doors."""
    node = settings.NODE
    # The longest message must fit, and what surrounds it.
    of_client = max(node.request_memory // 4, node.ws_message_limit * 5 // 4, node.body_limit)
    return RequestMemory(MemoryLimits(node.request_memory, of_client))


@cache
def connections() -> Connections:
    """Return the connections of this process."""
    node = settings.NODE
    limits = connection_limits(node.connections, node.address_connections)
    return Connections(limits, proxies=TrustedProxies.of(*node.trusted_proxies))


def _by_name(name: str, paths: tuple[str, ...], registry: MethodRegistry) -> Endpoint:
    """Return an interface whose params come by name, in the reference's dialect.

    Monitoring knows its calls by the interface's name.
    """
    metrics = observation.metrics()
    dispatcher = Dispatcher(
        registry,
        GORILLA,
        observer=metrics.tally(name).observe,
        inflight=metrics.inflight,
        outage=servers.away,
        turn=turn(),
        interpreter=interpreter(),
    )
    return Endpoint(paths, dispatcher, gate_config(), replies=metrics.replies_of(name))


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
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff
    from redis.exceptions import ConnectionError  # Redis' own

    from chaindb.redis_cache import SECONDS
    from jsonrpc.redis_throttle import RedisThrottle

    redis = Redis.from_url(
        node.redis_url,
        socket_timeout=SECONDS,
        socket_connect_timeout=SECONDS,
        retry=Retry(NoBackoff(), 1, (ConnectionError,)),
    )
    return RedisThrottle(redis, rate)
