"""Single messages: one is sent and its answer awaited, or one is awaited from many. Loads are in `generator`."""

import select
import socket
import time
from collections.abc import Sequence

from benchmarks.wire import UNKNOWN, Framing

READ = 1 << 16
"""Bytes taken from a socket at once."""


class Stalled(Exception):
    """A server closed the connection before it had answered."""


def exchange(framing: Framing, connection: socket.socket, body: bytes) -> bytes:
    """Send one body on an idle connection and return the answer's body.

    Raises:
        Stalled: The connection ended.
    """
    connection.sendall(framing.frame(body))
    return receive(framing, connection)


def receive(framing: Framing, connection: socket.socket) -> bytes:
    """Return the body of the next message; nothing may follow it yet.

    Raises:
        Stalled: The connection ended.
    """
    received = bytearray()
    while True:
        chunk = connection.recv(READ)
        if not chunk:
            raise Stalled("the server closed the connection")
        received += chunk
        size = framing.size(received)
        if size != UNKNOWN and len(received) >= size:
            return framing.body(bytes(received))


def receive_many(
    framing: Framing, connection: socket.socket, count: int, patience: float
) -> list[bytes]:
    """Return the bodies of the next messages, as many as came of the wanted number in so many seconds.

    Raises:
        Stalled: The connection ended.
    """
    found: list[bytes] = []
    received = bytearray()
    deadline = time.perf_counter() + patience
    with select.epoll() as poll:
        poll.register(connection.fileno(), select.EPOLLIN)
        while len(found) < count and (left := deadline - time.perf_counter()) > 0:
            if not poll.poll(left):
                break
            chunk = connection.recv(READ)
            if not chunk:
                raise Stalled("the server closed the connection")
            received += chunk
            while (size := framing.size(received)) != UNKNOWN and len(received) >= size:
                found.append(framing.body(bytes(received[:size])))
                del received[:size]
    return found


def wait_for_all(framing: Framing, connections: Sequence[socket.socket], patience: float) -> bool:
    """Take one whole message from each connection; False when not all came in time.

    Raises:
        Stalled: A connection ended.
    """
    waiting = {connection.fileno(): (connection, bytearray()) for connection in connections}
    deadline = time.perf_counter() + patience
    with select.epoll() as poll:
        for descriptor in waiting:
            poll.register(descriptor, select.EPOLLIN)
        while waiting and (left := deadline - time.perf_counter()) > 0:
            for descriptor, _ in poll.poll(left):
                connection, received = waiting[descriptor]
                chunk = connection.recv(READ)
                if not chunk:
                    raise Stalled("the server closed the connection")
                received += chunk
                size = framing.size(received)
                if size != UNKNOWN and len(received) >= size:
                    poll.unregister(descriptor)
                    del waiting[descriptor]
    return not waiting
