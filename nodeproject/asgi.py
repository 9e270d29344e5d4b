"""The ASGI application: plain pages and the raw RPC door first, then WebSockets, then Django for the rest.

Its life is that of the process: the follower and the health checks begin and end with it.
"""

from collections.abc import Mapping
from typing import Any

import django
from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.urls import Resolver404, path, re_path, resolve

from nodeproject.profile import choose_settings

choose_settings()
django.setup()

# Only now: these import models.
from cchain_app.consumers import EthConsumer  # noqa: E402
from chaindb.chains import Chain  # noqa: E402
from health_app.metrics.process import OTHER  # noqa: E402
from jsonrpc.asgi import RawDoor  # noqa: E402
from jsonrpc.gate import Gate  # noqa: E402
from jsonrpc.gathering import Gatherers  # noqa: E402
from jsonrpc.http import by_path  # noqa: E402
from nodeproject import doors, observation, plain, process  # noqa: E402
from nodeproject.chain_paths import ChainPaths  # noqa: E402
from nodeproject.concurrency import DJANGO_THREADS, WAITING_PAGES, ConcurrencyLimit  # noqa: E402
from nodeproject.follower import Follower  # noqa: E402
from nodeproject.rpc import evm_rpc  # noqa: E402

# Before Django makes its middleware, which counts.
observation.processes().enrol("web")
django_application: Any = get_asgi_application()


class Node:
    """All that this process serves; it follows the chain from its first request or start on."""

    def __init__(self) -> None:
        endpoint = doors.cchain()
        workers = doors.workers()
        metrics = observation.metrics()
        gatherers = Gatherers(workers)
        memory = doors.memory()
        consumer: Any = EthConsumer.as_asgi(
            rpc=evm_rpc(),
            endpoint=endpoint,
            workers=workers,
            gatherers=gatherers,
            memory=memory,
        )
        absent = doors.absent()
        sockets: list[Any] = []
        if doors.CCHAIN_WEBSOCKET not in absent:
            sockets.append(path(doors.CCHAIN_WEBSOCKET.removeprefix("/"), consumer))
        nowhere: Any = _Nowhere(absent)
        sockets.append(re_path("", nowhere))
        behind: Any = ProtocolTypeRouter(
            {
                "http": ConcurrencyLimit(
                    django_application,
                    at_once=DJANGO_THREADS,
                    waiting=WAITING_PAGES,
                    gate=Gate(doors.gate_config(), endpoint.dispatcher.dialect),
                    replies=metrics.replies_of(OTHER),
                    memory=memory,
                ),
                "websocket": URLRouter(sockets),
            }
        )
        self._follower = Follower(evm_rpc()) if Chain.C.is_here else None
        self._paths = ChainPaths(workers)
        observation.observe_web(workers, evm_rpc().hub)
        raw = RawDoor(
            by_path(doors.endpoints()),
            behind,
            workers,
            gatherers=gatherers,
            gate=Gate(doors.gate_config(), endpoint.dispatcher.dialect),
            replies=metrics.replies_of(OTHER),
            memory=memory,
            takes_body=takes_body,
            other_body=settings.NODE.page_body_limit,
        )
        self._door = plain.PlainDoor(plain.front(), raw, plain.workers())

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one connection."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        self._follow()  # servers without lifespan events (daphne) begin here
        if scope["type"] == "http":
            observation.reporter().start()
        await self._door(await self._paths.by_letter(scope), receive, send)

    def _follow(self) -> None:
        if self._follower is not None:
            self._follower.start()

    async def _live(self, receive: Any, send: Any) -> None:
        """Follow the chain and watch the node's health from start-up to shutdown of the server."""
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self._follow()
                observation.reporter().start()
                await send({"type": "lifespan.startup.complete"})
            else:
                observation.reporter().stop()
                if self._follower is not None:
                    await self._follower.stop()
                doors.workers().close()
                plain.workers().close()
                await send({"type": "lifespan.shutdown.complete"})
                return


def takes_body(path: str) -> bool:
    """Return whether Django has a view there; files and paths that nobody knows read no body."""
    try:
        resolve(path)
    except Resolver404:
        return False
    return True


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
application = Node()
