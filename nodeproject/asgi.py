"""The ASGI application: plain pages and raw RPC first, then WebSockets, then Django for everything else.

Its lifespan is that of the process: the chain listener and the health checks start and stop with it. The server's
protocol answers calls of EVM chains at once. A thread creates the other parts of the node, and imports
their modules, beside these first answers; requests to those parts wait until they exist.
"""

import asyncio
import gc
import logging
import re
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final

import django
from django.db import DatabaseError
from django.urls import Resolver404, get_resolver, path, re_path, resolve

from nodeproject.startup.profile import choose_settings

choose_settings()
django.setup()

# Imported here because these modules import models.
from cchain_app.api import EvmRpc  # noqa: E402
from cchain_app.api.eth.head_listener import HeadListener  # noqa: E402
from cchain_app.evm.select import is_native  # noqa: E402
from chaindb.chains import is_left_out, title  # noqa: E402
from chaindb.connections import OneThread, in_thread  # noqa: E402
from chaindb.events import Message  # noqa: E402
from chaindb.followers import Follower, directory_of  # noqa: E402
from health_app.metrics.process import OTHER  # noqa: E402
from jsonrpc.dispatch.gate import Gate  # noqa: E402
from jsonrpc.errors import Overloaded  # noqa: E402
from jsonrpc.http.asgi_rpc import AsgiRpc  # noqa: E402
from jsonrpc.http.replies import Endpoint  # noqa: E402
from network_app.selectors import progress  # noqa: E402
from nodeproject.apps import this_node  # noqa: E402
from nodeproject.node import Node  # noqa: E402
from nodeproject.settings.node import NodeSettings  # noqa: E402
from nodeproject.startup import process  # noqa: E402
from nodeproject.web.paths import BelowBasePath, ChainPaths, letters_of  # noqa: E402
from nodeproject.web.rpc_paths import ROOT, socket_paths  # noqa: E402
from primitives.identity import CertificateError  # noqa: E402
from primitives.ids import PRIMARY_NETWORK_ID  # noqa: E402
from primitives.networks import LOCAL  # noqa: E402
from primitives.node_identity import IdentityError  # noqa: E402

# Before Django creates its middleware, which counts.
this_node().processes.register("web")


RELOAD_SECONDS: Final = 10.0

FIND_SECONDS: Final = 5.0
"""Seconds after which chains of subnets are looked for although no event has announced one, and…"""
FIND_SECONDS_LOCAL: Final = 1.0
"""…those on a local network, where another process may restore a snapshot."""

_SECONDS: Final = 30.0
"""Seconds that the start waits for the database."""

_SOURCE_PATHS: Final = re.compile(r"(?:/chain/[^/]+)?/(?:v2/)?api|/(?:server/)?v2/verify/")
"""Beginnings of the explorer's paths to which sources are sent: the size limit of bodies is higher there than elsewhere."""

_log: Final = logging.getLogger(__name__)


class Application:
    """The whole service of a node; it follows the chain from its start or its first request."""

    def __init__(self, node: Node) -> None:
        self._node = node
        # Each thread that reads a chain has a connection to its database, which takes most of an idle chain's memory.
        self._look = OneThread("chains-of-subnets", threading.Lock()).run
        self._followers = [
            self._follower_of(rpc)
            for name, rpc in tuple(node.evm_rpcs.items())
            if not is_left_out(name)
        ]
        self._loop: asyncio.AbstractEventLoop | None = None
        self._starting: asyncio.Task[None] | None = None
        """Creates everything that is not needed for the first answers; None before and after."""
        self._requests: _Requests | None = None
        node.endpoints.on_added.append(self._follow_added)
        node.endpoints.on_removed.append(self._forget_removed)
        node.begin_transaction_logs()
        if node.head is not None:
            node.head.begin()
        production = node.settings.common.profile == "production"
        if makes_blocks := production and may_make_blocks(node):
            for runtime in tuple(node.evm_runtimes.values()):
                runtime.mine_on_arrival()
        self._mines_on_arrival = makes_blocks or (
            not production and is_native(node.settings.cchain.engine)
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one connection."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        self._follow()  # for servers without lifespan events (daphne)
        if self._starting is not None:
            await asyncio.shield(self._starting)
        requests = self._requests
        if requests is None:
            requests = await in_thread(self._create_rest)
            self._follow()
        if scope["type"] == "http":
            self._node.observation.reporter.start()
        await requests(scope, receive, send)

    def _create_rest(self) -> "_Requests":
        """Return what answers the requests that the server's protocol passes on. Blocking; a second call creates nothing."""
        node = self._node
        with node.late_lock:  # no chain begins meanwhile
            if self._requests is None:
                node.serve_all()
                self._requests = _Requests(node)
                gc.freeze()  # as `process.tune` does for the modules loaded before
            return self._requests

    def _follower_of(self, rpc: EvmRpc) -> HeadListener:
        is_primary = rpc.chain.subnet_id == PRIMARY_NETWORK_ID
        return HeadListener(rpc, progress, in_thread if is_primary else self._look)

    def _forget_removed(self, _: Endpoint, rpc: EvmRpc) -> None:
        """Follow a chain no longer that the process runs no longer, and close its WebSockets."""
        if self._loop is not None:
            ending = rpc.hub.end(f"chain {rpc.chain.name} has ended")
            asyncio.run_coroutine_threadsafe(ending, self._loop)
        for follower in tuple(self._followers):
            if follower.rpc is rpc:
                self._followers.remove(follower)
                if self._loop is not None:
                    asyncio.run_coroutine_threadsafe(follower.stop(), self._loop)

    def _follow_added(self, _: Endpoint, rpc: EvmRpc) -> None:
        """Follow a chain that the process begins to run."""
        follower = self._follower_of(rpc)
        self._followers.append(follower)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(follower.start)
        if self._mines_on_arrival:
            rpc.runtime.mine_on_arrival()

    def _follow(self) -> None:
        """Begin to follow the chains, as far as what follows them exists; may be called again."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        if self._requests is not None:
            self._requests.follow()
        for follower in tuple(self._followers):
            follower.start()

    async def _read(self, what: str, read: Callable[[], object]) -> None:
        """Read rows in a thread; if the database is unavailable, log that."""
        try:
            await self._node.endpoints.workers.run(_SECONDS, read)
        except (DatabaseError, Overloaded, TimeoutError) as error:
            _log.warning("%s could not be read yet: %s", what, error)

    async def _know_genesis(self) -> None:
        """Read the rules of each EVM chain's genesis, which calls on the event loop need because they read no rows.

        If the database is unavailable, the first call that runs in a thread reads them.
        """
        for chain in tuple(self._node.evm_chains.values()):
            await self._read(f"the genesis of the {title(chain.name)}", chain.read_genesis)

    async def _start_rest(self) -> None:
        """Create everything that is not needed for the first answers, and start it."""
        try:
            await in_thread(self._create_rest)
            await self._read("chains of subnets", self._node.subnet_chains.look_and_release)
            self._follow()
            self._node.observation.reporter.start()
        except Exception:  # a request tries again
            _log.exception("the interfaces besides those of EVM chains could not be created")
        finally:
            self._starting = None

    async def _live(self, receive: Any, send: Any) -> None:
        """Follow the chain and check the node's health from the startup to the shutdown of the server."""
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await self._know_genesis()
                self._follow()
                self._starting = asyncio.create_task(self._start_rest())
                await send({"type": "lifespan.startup.complete"})
            else:
                await self._stop()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _stop(self) -> None:
        node = self._node
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.gather(self._starting, return_exceptions=True)
        if self._requests is not None:
            node.observation.reporter.stop()
            await self._requests.stop()
        for follower in self._followers:
            await follower.stop()
        await node.endpoints.close()
        node.end_transaction_logs()


class _Requests:
    """Answers the requests that the server's protocol passes on, and follows the P-Chain.

    Args:
        node: The node.
    """

    def __init__(self, node: Node) -> None:
        from channels.routing import ProtocolTypeRouter, URLRouter

        from cchain_app.consumers import EthConsumer
        from nodeproject.web.concurrency import WAITING_PAGES, ConcurrencyLimit
        from nodeproject.web.get_pages import GetPagesMiddleware
        from platform_app.api.answers import PlatformListener

        endpoints, metrics = node.endpoints, node.observation.metrics
        endpoint, workers, memory = endpoints.cchain, endpoints.workers, endpoints.memory

        def consumer(rpc: EvmRpc) -> Any:
            return EthConsumer.as_asgi(
                rpc=rpc,
                endpoint=endpoints.evm[rpc.chain.name],
                answering=endpoints.answering,
                memory=memory,
            )

        nowhere = _NoWebSocket(endpoints.absent)
        consumers = {name: consumer(rpc) for name, rpc in tuple(node.evm_rpcs.items())}
        sockets: list[Any] = []
        for one, rpc in endpoints.sockets().items():
            if rpc.chain.subnet_id == PRIMARY_NETWORK_ID:
                sockets.append(path(one.removeprefix("/"), consumers[rpc.chain.name]))
            else:
                nowhere.further[one] = consumers[rpc.chain.name]
        any_path: Any = nowhere
        sockets.append(re_path("", any_path))
        pages = DjangoPages()
        behind: Any = ProtocolTypeRouter(
            {
                "http": ConcurrencyLimit(
                    BelowBasePath(pages, endpoints.base_paths),
                    at_once=process.DJANGO_THREADS,
                    waiting=WAITING_PAGES,
                    gate=Gate(endpoints.gate_config, endpoint.dispatcher.dialect),
                    replies=metrics.replies_of(OTHER),
                    memory=memory,
                ),
                "websocket": URLRouter(sockets),
            }
        )

        def added(_: Endpoint, rpc: EvmRpc) -> None:
            nowhere.further.update(dict.fromkeys(socket_paths(rpc.chain), consumer(rpc)))

        def removed(_: Endpoint, rpc: EvmRpc) -> None:
            for way in socket_paths(rpc.chain):
                nowhere.further.pop(way, None)

        endpoints.on_added.append(added)
        endpoints.on_removed.append(removed)
        self._node = node
        self._finder = ChainFinder(node)
        self._listener = PlatformListener(node.platform_chain)
        self._paths = ChainPaths(
            workers, lambda: letters_of(node.platform_chain, tuple(node.evm_chains.values()))
        )
        node.observation.observe_web(workers)
        raw = AsgiRpc(
            endpoints.table,
            behind,
            endpoints.answering,
            gate=Gate(endpoints.gate_config, endpoint.dispatcher.dialect),
            replies=metrics.replies_of(OTHER),
            memory=memory,
            takes_body=takes_body,
            other_body=partial(body_limit, node.settings),
            pages=[ROOT],
            load_others=pages.load,
        )
        self._base_paths = endpoints.base_paths
        self._application = GetPagesMiddleware(
            node.plain.front, raw, node.plain.workers, endpoints.base_paths
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request of a connection."""
        scope = self._base_paths.stripped(scope)
        await self._application(await self._paths.by_letter(scope), receive, send)

    def follow(self) -> None:
        """Begin to follow the P-Chain, on the running event loop; a second call does nothing."""
        self._listener.start()
        self._finder.start()

    async def stop(self) -> None:
        """End the tasks and the threads."""
        self._listener.stop()
        await self._finder.stop()
        self._node.plain.workers.close()


def may_make_blocks(node: Node) -> bool:
    """Return whether this process can build blocks beside the producer: with the native engine and the node's keys."""
    if not is_native(node.settings.cchain.engine):
        return False
    try:
        node.identity.keys  # noqa: B018  # read once and cached
    except (OSError, IdentityError, CertificateError) as error:
        _log.warning("only the producer builds blocks: %s", error)
        return False
    return True


def body_limit(settings: NodeSettings, path: str) -> int:
    """Return the maximum body size at a path of Django: more at paths that receive contract sources."""
    if _SOURCE_PATHS.match(path) and takes_body(path):
        from explorer_app.api.endpoint import body_limit as source_body_limit  # with the pages

        return max(source_body_limit(settings.explorer.source_limit), settings.page_body_limit)
    return settings.page_body_limit


def takes_body(path: str) -> bool:
    """Return whether Django has a view at a path; for files and unknown paths no body is read."""
    try:
        resolve(path)
    except Resolver404:
        return False
    return True


class ChainFinder:
    """Begins to run the chains of subnets that P-Chain blocks create, in a process that serves requests.

    Args:
        node: The node.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._wanted = asyncio.Event()
        self._unbind: Callable[[], None] | None = None
        self._task: asyncio.Task[None] | None = None
        common = node.settings.common
        self._seconds = FIND_SECONDS_LOCAL if common.network_id == LOCAL else FIND_SECONDS
        self._follower = Follower(directory_of(common.directory))

    def start(self) -> None:
        """Begin to look for chains, on the running event loop; a second call does nothing."""
        if self._task is None:
            self._follower.begin()
            chain, loop = self._node.platform_chain, asyncio.get_running_loop()
            self._unbind = chain.events.bind(loop, self._hear, [chain.name])
            self._task = loop.create_task(self._run())

    async def stop(self) -> None:
        """Stop looking."""
        if self._unbind is not None:
            self._unbind()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._follower.end()

    def _hear(self, message: Message) -> None:
        from platform_app.notifications import BLOCKCHAINS

        if message["type"] == BLOCKCHAINS:
            self._wanted.set()

    async def _run(self) -> None:
        while True:
            try:
                await in_thread(self._node.subnet_chains.look)
                self._follower.note(self._node.subnet_chains.generation)
            except Exception:  # whatever it is, the next block may create a chain that runs
                _log.exception("chains of subnets could not be looked for")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wanted.wait(), self._seconds)
            self._wanted.clear()


class DjangoPages:
    """The pages that Django shows, admin and explorer, loaded by the first request for one of them.

    Loading takes a second of CPU time. The node of a test suite usually gets no such request, and starts faster
    without the pages. The event loop does not wait for the loading.
    """

    def __init__(self) -> None:
        self._loading: asyncio.Task[Any] | None = None
        self._again_at = 0.0
        """When the pages may be loaded again after a failure, by the loop's clock."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request to Django. Raises as `load`."""
        application = await self.load()
        await application(scope, receive, send)

    async def load(self) -> Any:
        """Load the pages, once for all concurrent requests, and return Django's ASGI application.

        Raises:
            Exception: An import failed; it is tried again after `RELOAD_SECONDS`.
        """
        now = asyncio.get_running_loop().time()
        failed = self._loading is not None and self._loading.done() and self._loading.exception()
        if self._loading is None or (failed and now >= self._again_at):
            self._loading = asyncio.create_task(asyncio.to_thread(load_pages))
            self._again_at = now + RELOAD_SECONDS
        return await asyncio.shield(self._loading)


def load_pages() -> Any:
    """Import all modules that the URLs refer to, and return Django's ASGI application with its middleware."""
    from django.core.handlers.asgi import ASGIHandler  # takes a twentieth of a start

    get_resolver().url_patterns  # noqa: B018  # imports the modules
    return ASGIHandler()


class _NoWebSocket:
    """Refuses WebSocket handshakes at paths without a WebSocket.

    Args:
        absent: The messages for paths of a chain that this node does not take part in.
    """

    def __init__(self, absent: Mapping[str, str]) -> None:
        self._absent = absent
        self.further: dict[str, Any] = {}
        """The applications of chains of subnets, by path."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if (consumer := self.further.get(scope["path"])) is not None:
            await consumer(scope, receive, send)
            return
        await receive()
        if "websocket.http.response" in scope.get("extensions", {}):
            body = self._absent.get(scope["path"], "no WebSocket here")
            start = {"type": "websocket.http.response.start", "status": 404, "headers": []}
            await send(start)
            await send({"type": "websocket.http.response.body", "body": f"{body}\n".encode()})
        else:
            await send({"type": "websocket.close"})


process.tune()
application = Application(this_node())
