"""A proxy that serves a node under a path: it strips the path and sends it as X-Forwarded-Prefix."""

import socket
import socketserver
import threading
from contextlib import AbstractContextManager, suppress
from typing import Any

from typing_extensions import override

_HEAD_END = b"\r\n\r\n"
_PIECE = 65_536
_DROPPED = (b"connection:", b"x-forwarded-prefix:", b"x-forwarded-for:")
"""Headers of clients that it removes, except `Connection: Upgrade`."""


class PathProxy(AbstractContextManager["PathProxy"]):
    """A running proxy. Requests for other paths get a 404 and are recorded in `outside`."""

    def __init__(self, port: int, path: str, *, header: bool = True) -> None:
        """Start the proxy.

        Args:
            port: The port of the node.
            path: The path under which the node is served, such as `/node`.
            header: Whether the proxy sends the path to the node.
        """
        self.path = path
        self.outside: list[str] = []
        proxy = self

        class Handler(socketserver.BaseRequestHandler):
            @override
            def handle(self) -> None:
                proxy._serve(self.request, port, header=header)

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def base(self) -> str:
        """The URL of the node's front page, without a trailing slash."""
        return f"http://127.0.0.1:{self._server.server_address[1]}{self.path}"

    @override
    def __exit__(self, *_exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _serve(self, client: socket.socket, port: int, *, header: bool) -> None:
        received = _read_head(client)
        head, _, body = received.partition(_HEAD_END)
        line, *headers = head.split(b"\r\n")
        method, _, rest = line.partition(b" ")
        target = rest.partition(b" ")[0].decode()
        if not method:
            return
        if not target.startswith(f"{self.path}/"):
            self.outside.append(target)
            client.sendall(
                b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            )
            return
        upgrades = any(item.lower().startswith(b"upgrade:") for item in headers)
        passed = [other for other in headers if not other.lower().startswith(_DROPPED)]
        passed.append(b"Connection: Upgrade" if upgrades else b"Connection: close")
        passed.append(b"X-Forwarded-For: 127.0.0.1")
        if header:
            passed.append(b"X-Forwarded-Prefix: " + self.path.encode())
        asked = b"%b %b HTTP/1.1" % (method, target.removeprefix(self.path).encode())
        with socket.create_connection(("127.0.0.1", port)) as node:
            node.sendall(b"\r\n".join([asked, *passed]) + _HEAD_END + body)
            sending = threading.Thread(target=_pass_on, args=[client, node], daemon=True)
            sending.start()
            _pass_on(node, client)
            sending.join()


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128


def _read_head(client: socket.socket) -> bytes:
    received = b""
    while _HEAD_END not in received:
        piece = client.recv(_PIECE)
        if not piece:
            return b""
        received += piece
    return received


def _pass_on(source: Any, target: Any) -> None:
    """Forward bytes until one side ends; then end both."""
    with suppress(OSError):
        while piece := source.recv(_PIECE):
            target.sendall(piece)
    for value in (source, target):
        with suppress(OSError):
            value.shutdown(socket.SHUT_RDWR)
