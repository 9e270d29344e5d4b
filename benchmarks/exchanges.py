"""Single messages: send one and await its answer, or await one on many connections. Loads are in `generator`."""

import select
import socket
import time
from collections.abc import Sequence

from benchmarks.wire import UNKNOWN, Framing

READ = 1 << 16
"""Maximum bytes for one read from a socket."""


class Stalled(Exception):
    """A server closed the connection before it answered."""


def exchange(framing: Framing, connection: socket.socket, body: bytes) -> bytes:
    """Send one body on an idle connection and return the answer's body.

    Raises:
        Stalled: The connection ended.
    """
    connection.sendall(framing.frame(body))
    return receive(framing, connection)


def receive(framing: Framing, connection: socket.socket) -> bytes:
    """Return the body of the next message; no other message may follow it yet.

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
    """Return the bodies of the next messages: the wanted number, or those that came in time.

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
    """Read one whole message from each connection; False if some did not arrive in time.

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
