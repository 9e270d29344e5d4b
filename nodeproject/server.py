"""The web server that `runnode` starts: uvicorn, or daphne where NODE_SERVER says so."""

import contextlib
import socket
import sys
from collections.abc import Callable
from typing import Any

import uvicorn
from django.conf import settings
from typing_extensions import override
from uvicorn.config import STARTUP_FAILURE
from uvicorn.server import Server
from uvicorn.supervisors import Multiprocess

from nodeproject import process

APPLICATION = "nodeproject.asgi:application"


Listening = Callable[[str, int], object]
"""Is told the address and port once connections are accepted there, and only then."""


def serve(listening: Listening = lambda _host, _port: None) -> None:
    """Serve HTTP and WebSocket until interrupted.

    Args:
        listening: Is told where, once.

    Raises:
        SystemExit: The server cannot listen, or its processes end at their start.
    """
    process.raise_descriptors()
    {"uvicorn": _uvicorn, "daphne": _daphne}[settings.NODE.server](listening)


class _TellingServer(Server):
    """A server in this process that says when it listens."""

    def __init__(self, config: uvicorn.Config, listening: Listening) -> None:
        super().__init__(config)
        self._listening = listening

    @override
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            host, port, *_ = self.servers[0].sockets[0].getsockname()
            self._listening(host, port)


class _TellingProcesses(Multiprocess):
    """Several processes on one port, of which the first one's listening is told."""

    def __init__(
        self, config: uvicorn.Config, sockets: list[socket.socket], listening: Listening
    ) -> None:
        super().__init__(config, sockets)
        self._listening: Listening | None = listening

    @override
    def keep_subprocess_alive(self) -> None:
        # Called twice a second, after the signals.
        if self._listening is not None and self.processes[0].is_ready():
            host, port, *_ = self.sockets[0].getsockname()
            self._listening(host, port)
            self._listening = None
        super().keep_subprocess_alive()


def _uvicorn(listening: Listening) -> None:
    config = _uvicorn_config()
    if config.workers > 1:
        _TellingProcesses(config, [config.bind_socket()], listening).run()
        return
    config.load_app()  # before there is an event loop: models may read rows while they are made
    server = _TellingServer(config, listening)
    with contextlib.suppress(KeyboardInterrupt):
        server.run()
    if not server.started:
        sys.exit(STARTUP_FAILURE)


def _uvicorn_config() -> uvicorn.Config:
    node = settings.NODE
    return uvicorn.Config(
        APPLICATION,
        host=node.http_host,
        port=node.http_port,
        loop="uvloop",
        http="nodeproject.direct:Protocol",
        ws="nodeproject.direct:WebSocket",
        ws_max_size=node.ws_message_limit,
        ws_ping_interval=30,
        ws_ping_timeout=30,
        ws_per_message_deflate=False,  # costs more than loopback and data centres gain
        timeout_keep_alive=120,
        timeout_graceful_shutdown=5,
        backlog=process.backlog(),
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,  # whom to believe is the gate's decision (NODE_TRUSTED_PROXIES)
        workers=node.web_workers if node.profile == "production" else 1,
    )


def _daphne(listening: Listening) -> None:
    from daphne import server
    from daphne.ws_protocol import WebSocketFactory

    from jsonrpc.http import by_path
    from nodeproject.apps import this_node
    from nodeproject.asgi import application, load_pages, takes_body
    from nodeproject.daphne_protocol import BoundedFactory, BoundedRequest, ClosingProtocol

    load_pages()  # whose body is read is asked at once there
    node = settings.NODE
    interfaces = by_path(this_node().doors.endpoints())

    def most_of(path: str) -> int:
        if path in interfaces:
            return node.body_limit
        return node.page_body_limit if takes_body(path) else 0

    BoundedRequest.most_of = staticmethod(most_of)
    server.HTTPFactory = BoundedFactory
    WebSocketFactory.protocol = ClosingProtocol
    host = node.http_host.replace(":", r"\:")

    class TellingServer(server.Server):  # type: ignore[misc]  # daphne has no types
        @override
        def listen_success(self, port: Any) -> None:
            super().listen_success(port)
            host = port.getHost()
            listening(host.host, host.port)

    TellingServer(
        application=application,
        endpoints=[f"tcp:port={node.http_port}:interface={host}"],
        ping_interval=30,
        ping_timeout=30,
        websocket_timeout=10**9,  # subscriptions never expire
        websocket_max_message_size=node.ws_message_limit,
        websocket_max_frame_size=node.ws_message_limit,
        server_name="",
    ).run()
