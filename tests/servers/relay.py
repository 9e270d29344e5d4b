"""The connections of a test network: each node is reached through a relay that can be interrupted.

While a node is cut off, or the network is partitioned, no bytes pass, as if packets were lost:
connections stay open, and the bytes in transit arrive after the relay is restored, if the receiver still waits.
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
"""Seconds between checks whether a connection is restored."""


class Wires:
    """The reachability between nodes; all relays of a network share it. Nodes are known by their IP."""

    def __init__(self) -> None:
        self._cut: set[str] = set()
        self._slow: dict[str, float] = {}
        self._parts: list[Collection[str]] = []
        self._changed = threading.Condition()

    def cut(self, ip: str) -> None:
        """Block all traffic from and to a node."""
        with self._changed:
            self._cut.add(ip)

    def mend(self, ip: str) -> None:
        """Allow all traffic of a node again."""
        with self._changed:
            self._cut.discard(ip)
            self._changed.notify_all()

    def slow(self, ip: str, seconds: float) -> None:
        """Delay all traffic from and to a node by this time; 0 removes the delay."""
        self._slow[ip] = seconds

    def delay(self, *ips: str) -> float:
        """Return the delay between nodes in seconds."""
        return max(self._slow.get(ip, 0.0) for ip in ips)

    def split(self, *parts: Collection[str]) -> None:
        """Allow traffic only within each of these parts; nodes in no part are isolated."""
        with self._changed:
            self._parts = list(parts)

    def heal(self) -> None:
        """Remove the partition."""
        with self._changed:
            self._parts = []
            self._changed.notify_all()

    def wait(self, *ips: str) -> None:
        """Return when the traffic between nodes is not blocked."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_whole(ips))

    def _is_whole(self, ips: Collection[str]) -> bool:
        within = not self._parts or any(set(ips) <= set(part) for part in self._parts)
        return within and self._cut.isdisjoint(ips)


class Relay:
    """A relay that listens on a free port and forwards bytes to a node while they are connected."""

    def __init__(self, ip: str, port: int, wires: Wires) -> None:
        """Open the port; the node behind it may start later."""
        self._server = _Server(("127.0.0.1", 0), _Connection)
        self._server.behind = (ip, port)
        self._server.wires = wires
        self.address = f"127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(_LOOK,), daemon=True).start()

    def close(self) -> None:
        """Accept no new connections; existing ones end when either side closes."""
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
        except OSError:  # one side was reset, so reset the other too
            for end in (source, target):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
