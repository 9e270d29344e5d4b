"""The handover of connections from a reader to the writer: socket and bytes, over a pair of Unix sockets.

The kernel passes the socket itself, so the writer sees the client's address, and the reader is no longer involved. Each
message is the number of bytes in four bytes, sent together with the socket, and then the bytes.
"""

import contextlib
import queue
import socket
import struct
import threading
from collections.abc import Iterator
from typing import Final, NamedTuple

MOST: Final = 1024
"""Connections that may be in transit; a writer that is further behind could not handle more."""
_LENGTH: Final = struct.Struct("!I")


class HandedOver(NamedTuple):
    """A connection in transit."""

    connection: socket.socket
    received: bytes
    """Bytes received on the connection and not answered."""


class Handover:
    """A reader's end of the pair. A thread writes, so that the event loop does not wait for a busy writer.

    Args:
        line: The socket to the writer. If the writer closes its end, this process ends too, so unsent connections
            do not matter.
    """

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._going: queue.SimpleQueue[HandedOver | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._send, name="handover", daemon=True)
        self._thread.start()

    def give(self, connection: socket.socket, received: bytes) -> None:
        """Hand a connection over; it is closed here after that, or immediately if too many are in transit."""
        if self._going.qsize() < MOST:
            self._going.put(HandedOver(connection, received))
        else:
            connection.close()

    def close(self, patience: float = 1.0) -> None:
        """End when all connections are sent, or after `patience` seconds."""
        self._going.put(None)
        self._thread.join(patience)

    def _send(self) -> None:
        while (one := self._going.get()) is not None:
            connection, received = one
            with connection, contextlib.suppress(OSError):
                socket.send_fds(self._line, [_LENGTH.pack(len(received))], [connection.fileno()])
                self._line.sendall(received)


def receive(line: socket.socket) -> Iterator[HandedOver]:
    """Yield connections as they arrive, until the reader has ended. The caller closes them."""
    while True:
        head, descriptors, _, _ = socket.recv_fds(line, _LENGTH.size, 1)
        connections = [socket.socket(fileno=descriptor) for descriptor in descriptors]
        received = _read(line, head)
        if received is None or not connections:
            for connection in connections:
                connection.close()
            return
        yield HandedOver(connections[0], received)


def _read(line: socket.socket, head: bytes) -> bytes | None:
    """Return the bytes of a message; None if the reader ended before it was complete."""
    head += _exactly(line, _LENGTH.size - len(head)) if head else b""
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    received = _exactly(line, length)
    return received if len(received) == length else None


def _exactly(line: socket.socket, length: int) -> bytes:
    """Return the given number of bytes, or fewer at the end of the stream."""
    parts = bytearray()
    while len(parts) < length and (part := line.recv(length - len(parts))):
        parts += part
    return bytes(parts)
