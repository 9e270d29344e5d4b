"""Connections that go over from a reader to the writer: socket and bytes, by a pair of Unix sockets.

The kernel hands the socket itself on, so the writer has the client's address, and the reader is out of the way. Each
message is the number of bytes in four bytes, with which the socket comes, and then the bytes.
"""

import contextlib
import queue
import socket
import struct
import threading
from collections.abc import Iterator
from typing import Final, NamedTuple

MOST: Final = 1024
"""Connections on their way; a writer that is so far behind has no use for more."""
_LENGTH: Final = struct.Struct("!I")


class HandedOver(NamedTuple):
    """A connection on its way."""

    connection: socket.socket
    received: bytes
    """What was received on it and not answered."""


class Handover:
    """A reader's end of the pair. A thread writes, so the event loop does not wait for a writer that is busy.

    Args:
        line: The socket to the writer. One that is closed there ends this process, so what waits is not missed.
    """

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._going: queue.SimpleQueue[HandedOver | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._send, name="handover", daemon=True)
        self._thread.start()

    def give(self, connection: socket.socket, received: bytes) -> None:
        """Hand a connection over; it is closed here once it is there, or at once where too many are on their way."""
        if self._going.qsize() < MOST:
            self._going.put(HandedOver(connection, received))
        else:
            connection.close()

    def close(self, patience: float = 1.0) -> None:
        """End when all connections are there, or after so many seconds."""
        self._going.put(None)
        self._thread.join(patience)

    def _send(self) -> None:
        while (one := self._going.get()) is not None:
            connection, received = one
            with connection, contextlib.suppress(OSError):
                socket.send_fds(self._line, [_LENGTH.pack(len(received))], [connection.fileno()])
                self._line.sendall(received)


def receive(line: socket.socket) -> Iterator[HandedOver]:
    """Yield connections as they come, until the reader has ended. The caller closes them."""
    while True:
        head, descriptors, _, _ = socket.recv_fds(line, _LENGTH.size, 1)
        connections = [socket.socket(fileno=one) for one in descriptors]
        received = _read(line, head)
        if received is None or not connections:
            for one in connections:
                one.close()
            return
        yield HandedOver(connections[0], received)


def _read(line: socket.socket, head: bytes) -> bytes | None:
    """Return the bytes of a message; None where the reader ended before all had come."""
    head += _exactly(line, _LENGTH.size - len(head)) if head else b""
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    received = _exactly(line, length)
    return received if len(received) == length else None


def _exactly(line: socket.socket, length: int) -> bytes:
    """Return so many bytes, or fewer where there are no more."""
    parts = bytearray()
    while len(parts) < length and (part := line.recv(length - len(parts))):
        parts += part
    return bytes(parts)
