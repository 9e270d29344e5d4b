"""The wires of a test's network: each node is reached through a relay that can be cut and mended.

While a node is cut off, or the network has fallen into parts, nothing passes, as if packets were lost:
connections stay open, and what was on its way comes when the wire is mended, if somebody still waits for it.
"""

import contextlib
import socket
import socketserver
import threading
import time
from collections.abc import Collection
from typing import Any

from typing_extensions import override

_PIECE = 65_536
_LOOK = 0.05
"""Seconds between looks at whether a wire is mended."""


class Wires:
    """Who hears whom; all relays of a network share it. Nodes are known by their own IP."""

    def __init__(self) -> None:
        self._cut: set[str] = set()
        self._slow: dict[str, float] = {}
        self._parts: list[Collection[str]] = []
        self._changed = threading.Condition()

    def cut(self, ip: str) -> None:
        """Let nothing pass from or to a node."""
        with self._changed:
            self._cut.add(ip)

    def mend(self, ip: str) -> None:
        """Let everything pass again."""
        with self._changed:
            self._cut.discard(ip)
            self._changed.notify_all()

    def slow(self, ip: str, seconds: float) -> None:
        """Let all that passes from or to a node take so long on its way; 0: no time of its own again."""
        self._slow[ip] = seconds

    def delay(self, *ips: str) -> float:
        """Return the seconds that something takes between nodes."""
        return max(self._slow.get(ip, 0.0) for ip in ips)

    def split(self, *parts: Collection[str]) -> None:
        """Let something pass within each of these parts alone; who is in none hears nobody."""
        with self._changed:
            self._parts = list(parts)

    def heal(self) -> None:
        """Let the parts hear each other again."""
        with self._changed:
            self._parts = []
            self._changed.notify_all()

    def wait(self, *ips: str) -> None:
        """Return when nothing is cut between nodes."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_whole(ips))

    def _is_whole(self, ips: Collection[str]) -> bool:
        within = not self._parts or any(set(ips) <= set(part) for part in self._parts)
        return within and self._cut.isdisjoint(ips)


class Relay:
    """Listens on a free port and passes bytes on to a node, as long as the wires are whole."""

    def __init__(self, ip: str, port: int, wires: Wires) -> None:
        """Open the port; nobody needs to listen behind it yet."""
        self._server = _Server(("127.0.0.1", 0), _Connection)
        self._server.behind = (ip, port)
        self._server.wires = wires
        self.address = f"127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(_LOOK,), daemon=True).start()

    def close(self) -> None:
        """Take no more connections; those that are there end with either side."""
        self._server.shutdown()
        self._server.server_close()


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256
    behind: tuple[str, int]
    wires: Wires


class _Connection(socketserver.BaseRequestHandler):
    server: _Server

    @override
    def handle(self) -> None:
        dialler: socket.socket = self.request
        ips = (self.client_address[0], self.server.behind[0])
        self.server.wires.wait(*ips)
        with contextlib.suppress(OSError), socket.create_connection(self.server.behind) as node:
            for end in (dialler, node):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            there = threading.Thread(target=self._pass_on, args=(dialler, node, ips), daemon=True)
            there.start()
            self._pass_on(node, dialler, ips)
            there.join()

    def _pass_on(self, source: socket.socket, target: socket.socket, ips: Any) -> None:
        try:
            while data := source.recv(_PIECE):
                time.sleep(self.server.wires.delay(*ips))
                self.server.wires.wait(*ips)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:  # one of them is gone at once: so is the other for its peer
            for end in (source, target):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
