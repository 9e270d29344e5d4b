"""The ASGI application: plain pages and the raw RPC door first, then WebSockets, then Django for the rest.

Its life is that of the process: the follower and the health checks begin and end with it.
"""

import asyncio
import logging
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import django
from channels.routing import ProtocolTypeRouter, URLRouter
from django.core.asgi import get_asgi_application
from django.db import DatabaseError
from django.urls import Resolver404, get_resolver, path, re_path, resolve

from nodeproject.startup.profile import choose_settings

choose_settings()
django.setup()

# Only now: these import models.
from cchain_app.consumers import EthConsumer  # noqa: E402
from cchain_app.evm.select import is_native  # noqa: E402
from chaindb.chains import Chain  # noqa: E402
from explorer_app.api.door import body_limit as source_body_limit  # noqa: E402
from explorer_app.api.paths import SENDING_SOURCES  # noqa: E402
from health_app.metrics.process import OTHER  # noqa: E402
from jsonrpc.dispatch.gate import Gate  # noqa: E402
from jsonrpc.errors import Overloaded  # noqa: E402
from jsonrpc.http.asgi_rpc import RawDoor  # noqa: E402
from jsonrpc.http.replies import by_path  # noqa: E402
from nodeproject.apps import this_node  # noqa: E402
from nodeproject.heads.listener import HeadListener  # noqa: E402
from nodeproject.heads.platform import PlatformListener  # noqa: E402
from nodeproject.node import Node  # noqa: E402
from nodeproject.processes import process  # noqa: E402
from nodeproject.settings.node import NodeSettings  # noqa: E402
from nodeproject.web.base_path import BelowBasePath  # noqa: E402
from nodeproject.web.chain_paths import ChainPaths, letters_of  # noqa: E402
from nodeproject.web.concurrency import DJANGO_THREADS, WAITING_PAGES, ConcurrencyLimit  # noqa: E402
from nodeproject.web.endpoints import CCHAIN_WEBSOCKETS, ROOT  # noqa: E402
from nodeproject.web.get_pages import PlainDoor  # noqa: E402
from primitives.identity import CertificateError  # noqa: E402
from primitives.node_identity import IdentityError  # noqa: E402

# Before Django makes its middleware, which counts.
this_node().processes.enrol("web")
django_application: Any = get_asgi_application()


RELOAD_SECONDS: Final = 10.0

_SECONDS: Final = 30.0
"""So long the start waits for the database."""

_log: Final = logging.getLogger(__name__)


class Application:
    """All that a node serves; it follows the chain from its first request or start on."""

    def __init__(self, node: Node) -> None:
        doors, metrics = node.doors, node.observation.metrics
        endpoint, workers, memory = doors.cchain, doors.workers, doors.memory
        consumer: Any = EthConsumer.as_asgi(
            rpc=node.evm_rpc,
            endpoint=endpoint,
            workers=workers,
            gatherers=doors.gatherers,
            memory=memory,
        )
        absent = doors.absent()
        nowhere: Any = _Nowhere(absent)
        sockets: list[Any] = [
            path(one.removeprefix("/"), consumer) for one in CCHAIN_WEBSOCKETS if one not in absent
        ]
        sockets.append(re_path("", nowhere))
        behind: Any = ProtocolTypeRouter(
            {
                "http": ConcurrencyLimit(
                    BelowBasePath(django_application, doors.base_paths),
                    at_once=DJANGO_THREADS,
                    waiting=WAITING_PAGES,
                    gate=Gate(doors.gate_config, endpoint.dispatcher.dialect),
                    replies=metrics.replies_of(OTHER),
                    memory=memory,
                ),
                "websocket": URLRouter(sockets),
            }
        )
        self._node = node
        self._follower = HeadListener(node.evm_rpc) if Chain.C.is_here else None
        self._listener = PlatformListener(node.platform_chain)
        self._paths = ChainPaths(workers, partial(letters_of, node.platform_chain, node.evm_chain))
        node.observation.observe_web(workers)
        node.transaction_log.begin()
        if node.head is not None:
            node.head.begin()
        if node.settings.profile == "production" and may_make_blocks(node):
            node.evm_chain.mine_on_arrival()
        raw = RawDoor(
            by_path(doors.endpoints()),
            behind,
            workers,
            gatherers=doors.gatherers,
            gate=Gate(doors.gate_config, endpoint.dispatcher.dialect),
            replies=metrics.replies_of(OTHER),
            memory=memory,
            takes_body=takes_body,
            other_body=partial(body_limit, node.settings),
            pages=[ROOT],
            load_others=Pages().load,
        )
        self._base_paths = doors.base_paths
        self._door = PlainDoor(node.plain.front, raw, node.plain.workers, doors.base_paths)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one connection."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        self._follow()  # servers without lifespan events (daphne) begin here
        if scope["type"] == "http":
            self._node.observation.reporter.start()
        scope = self._base_paths.stripped(scope)
        await self._door(await self._paths.by_letter(scope), receive, send)

    def _follow(self) -> None:
        self._listener.start()
        if self._follower is not None:
            self._follower.start()

    async def _know_genesis(self) -> None:
        """Read by which rules the C-Chain goes: calls on the event loop need them, and read no rows.

        Where the database is away they are read with the first call that has a thread.
        """
        try:
            await self._node.doors.workers.run(_SECONDS, self._node.evm_chain.read_genesis)
        except (DatabaseError, Overloaded, TimeoutError) as error:
            _log.warning("the C-Chain's genesis could not be looked up yet: %s", error)

    async def _live(self, receive: Any, send: Any) -> None:
        """Follow the chain and watch the node's health from start-up to shutdown of the server."""
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await self._know_genesis()
                self._follow()
                self._node.observation.reporter.start()
                await send({"type": "lifespan.startup.complete"})
            else:
                self._node.observation.reporter.stop()
                self._listener.stop()
                if self._follower is not None:
                    await self._follower.stop()
                await self._node.doors.close()
                self._node.transaction_log.end()
                self._node.plain.workers.close()
                await send({"type": "lifespan.shutdown.complete"})
                return


def may_make_blocks(node: Node) -> bool:
    """Say whether this process can make blocks beside the producer: quickly, and with the node's keys."""
    if not is_native(node.settings.engine):
        return False
    try:
        node.network.identity  # noqa: B018  # it is read once, and kept
    except (OSError, IdentityError, CertificateError) as error:
        _log.warning("all blocks are left to the producer: %s", error)
        return False
    return True


def body_limit(settings: NodeSettings, path: str) -> int:
    """Return how many bytes a body may have at a path of Django's: more where sources of contracts are sent."""
    if path.startswith(SENDING_SOURCES) and takes_body(path):
        return max(source_body_limit(settings.source_limit), settings.page_body_limit)
    return settings.page_body_limit


def takes_body(path: str) -> bool:
    """Return whether Django has a view there; files and paths that nobody knows read no body."""
    try:
        resolve(path)
    except Resolver404:
        return False
    return True


class Pages:
    """The pages that Django shows, admin and explorer, which the first request for one of them loads.

    That takes a second of a processor. A node of a test suite is asked for none, and what starts without them
    answers sooner. The event loop does not wait for it.
    """

    def __init__(self) -> None:
        self._loading: asyncio.Task[None] | None = None
        self._again_at = 0.0
        """From when on another attempt is made after one that failed, by the loop's clock."""

    async def load(self) -> None:
        """Load them, once for all who ask meanwhile.

        Raises:
            Exception: What an import raised; it is tried again after `RELOAD_SECONDS`.
        """
        now = asyncio.get_running_loop().time()
        failed = self._loading is not None and self._loading.done() and self._loading.exception()
        if self._loading is None or (failed and now >= self._again_at):
            self._loading = asyncio.create_task(asyncio.to_thread(load_pages))
            self._again_at = now + RELOAD_SECONDS
        await asyncio.shield(self._loading)


def load_pages() -> None:
    """Import all that the URLs lead to."""
    get_resolver().url_patterns  # noqa: B018  # it imports


class _Nowhere:
    """Answers a WebSocket's opening on a path where there is none.

    Args:
        absent: What is said at some paths.
    """

    def __init__(self, absent: Mapping[str, str]) -> None:
        self._absent = absent

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
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
