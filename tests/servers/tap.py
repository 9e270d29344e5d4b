"""A port that forwards every byte to another one and reports both directions to a listener."""

import contextlib
import socket
import socketserver
import threading
from collections.abc import Callable
from typing import Any, Protocol

from typing_extensions import override

_PIECE = 65_536


class Listener(Protocol):
    """A listener of one connection; called from two threads, one per direction."""

    def sent(self, data: bytes) -> None:
        """Receive the client's bytes before the server does."""

    def answered(self, data: bytes) -> None:
        """Receive the server's bytes before the client does."""


class Tap:
    """A forwarder that listens on a free port of 127.0.0.1 and connects its clients to another port."""

    def __init__(self, port: int, listen: Callable[[], Listener]) -> None:
        """Open the port.

        Args:
            port: the target port; its server may start later.
            listen: returns the listener of a new connection.
        """
        self._server = _Server(("127.0.0.1", 0), _Connection)
        self._server.behind = ("127.0.0.1", port)
        self._server.listen = listen
        self.port: int = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        """Accept no new connections; existing ones end when either side closes."""
        self._server.shutdown()
        self._server.server_close()


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 1024
    behind: tuple[str, int]
    listen: Callable[[], Listener]


class _Connection(socketserver.BaseRequestHandler):
    server: _Server

    @override
    def handle(self) -> None:
        client: socket.socket = self.request
        listener = self.server.listen()
        with contextlib.suppress(OSError), socket.create_connection(self.server.behind) as server:
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            there = (client, server, listener.sent)
            forwards = threading.Thread(target=_pass_on, args=there, daemon=True)
            forwards.start()
            _pass_on(server, client, listener.answered)
            forwards.join()


def _pass_on(source: socket.socket, target: socket.socket, hear: Callable[[bytes], Any]) -> None:
    """Forward until the source ends, then end the target's direction too."""
    try:
        while data := source.recv(_PIECE):
            hear(data)
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:  # one side was reset, so reset the other too
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
