"""The web server that `runnode` starts: uvicorn, or daphne if NODE_SERVER says so."""

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

from nodeproject.startup import process

APPLICATION = "nodeproject.asgi:application"

Listening = Callable[[str, int], object]
"""Called with the address and port as soon as connections are accepted there."""


def serve(listening: Listening = lambda _host, _port: None) -> None:
    """Serve HTTP and WebSocket until interrupted.

    Args:
        listening: Called once with the address and port.

    Raises:
        SystemExit: The server cannot listen, or its processes end at their start.
    """
    process.raise_descriptors()
    {"uvicorn": _uvicorn, "daphne": _daphne}[settings.NODE.server](listening)


class _ReportingServer(Server):
    """A server in this process that reports when it listens."""

    def __init__(self, config: uvicorn.Config, listening: Listening) -> None:
        super().__init__(config)
        self._listening = listening

    @override
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            host, port, *_ = self.servers[0].sockets[0].getsockname()
            self._listening(host, port)


class _ReportingProcesses(Multiprocess):
    """Several processes on one port; reports when the first of them listens."""

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
    node = settings.NODE
    config = config_of(
        APPLICATION,
        "nodeproject.processes.uvicorn_protocols:NodeProtocol",
        "nodeproject.processes.uvicorn_protocols:web_socket",
    )
    if node.common.web_workers > 1 and node.common.profile == "production":
        config.workers = node.common.web_workers
        process.tune()  # its children load the application, this process does not
        _ReportingProcesses(config, _inherited_sockets(), listening).run()
        return
    config.load_app()  # before an event loop exists, because creating models may read rows
    _run(_ReportingServer(config, listening), _sockets())


def _sockets() -> list[socket.socket]:
    """Return the bound sockets of this process."""
    return process.listening_sockets(settings.NODE.http_host, settings.NODE.http_port)


def _inherited_sockets() -> list[socket.socket]:
    """Return bound sockets that child processes inherit."""
    bound = _sockets()
    for item in bound:
        item.set_inheritable(True)
    return bound


def _run(server: _ReportingServer, sockets: list[socket.socket]) -> None:
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets)
    if not server.started:
        sys.exit(STARTUP_FAILURE)


def config_of(application: Any, http: Any, ws: Any = "none") -> uvicorn.Config:
    """Return the configuration of uvicorn.

    Args:
        application: The ASGI application, in a form that uvicorn accepts.
        http: The HTTP protocol, likewise.
        ws: The WebSocket protocol, if any.
    """
    node = settings.NODE
    return uvicorn.Config(
        application,
        loop="uvloop",
        http=http,
        ws=ws,
        ws_max_size=node.cchain.ws.message_limit,
        ws_ping_interval=30,
        ws_ping_timeout=30,
        ws_per_message_deflate=False,  # costs more than loopback and data centres gain
        timeout_keep_alive=120,
        timeout_graceful_shutdown=5,
        backlog=process.backlog(),
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,  # the gate decides which proxies to trust (NODE_TRUSTED_PROXIES)
        workers=1,
    )


def _daphne(listening: Listening) -> None:
    from daphne import server
    from daphne.ws_protocol import WebSocketFactory
    from twisted.internet.endpoints import AdoptedStreamServerEndpoint

    from jsonrpc.http.replies import by_path
    from nodeproject.apps import this_node
    from nodeproject.asgi import application, load_pages, takes_body
    from nodeproject.web.daphne_protocol import BoundedFactory, BoundedRequest, ClosingProtocol

    load_pages()  # daphne needs to know immediately which paths accept a body
    node = settings.NODE
    endpoints = this_node().endpoints
    interfaces = by_path(endpoints.all())

    def most_of(asked: str) -> int:
        path = endpoints.base_paths.without(asked)
        if path in interfaces:
            return node.body_limit
        return node.page_body_limit if takes_body(path) else 0

    BoundedRequest.most_of = staticmethod(most_of)
    server.HTTPFactory = BoundedFactory
    WebSocketFactory.protocol = ClosingProtocol
    bound = {str(place): bound_socket for place, bound_socket in enumerate(_sockets())}

    def adopted(reactor: Any, place: str) -> AdoptedStreamServerEndpoint:
        bound[place].listen(process.backlog())
        return AdoptedStreamServerEndpoint(  # type: ignore[no-untyped-call]
            reactor, bound[place].detach(), bound[place].family
        )

    server.serverFromString = adopted  # daphne's own endpoints have one address each

    class ReportingServer(server.Server):  # type: ignore[misc]  # daphne has no types
        @override
        def listen_success(self, port: Any) -> None:
            super().listen_success(port)
            if len(self.listening_addresses) == len(bound):
                listening(*self.listening_addresses[0])

    ReportingServer(
        application=application,
        endpoints=list(bound),
        ping_interval=30,
        ping_timeout=30,
        websocket_timeout=10**9,  # subscriptions never expire
        websocket_max_message_size=node.cchain.ws.message_limit,
        websocket_max_frame_size=node.cchain.ws.message_limit,
        server_name="",
    ).run()
