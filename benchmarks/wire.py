"""Framing of JSON-RPC messages: as HTTP/1.1 exchanges or as WebSocket text messages.

It covers only the load generator's needs: requests are framed once, answers are cut out of a byte stream.
"""

import base64
import socket
from dataclasses import dataclass
from typing import Protocol

from typing_extensions import override

UNKNOWN = -1
"""The size of an answer whose end has not arrived yet."""

HEAD_CACHE = 1000
"""Number of cached response heads; servers repeat them except for the date."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a server listens for JSON-RPC; the same port takes HTTP and WebSocket."""

    host: str
    port: int
    http_path: str
    ws_path: str


class Framing(Protocol):
    """The common interface of both framings."""

    name: str
    """`http` or `ws`, as in the generator's arguments."""
    endpoint: Endpoint

    def opening(self) -> bytes:
        """Return the first bytes of a client on a new connection; empty for HTTP."""

    def connect(self) -> socket.socket:
        """Return a connected socket on which messages can be exchanged."""

    def frame(self, body: bytes) -> bytes:
        """Return the bytes to send for one message."""

    def size(self, received: bytes | bytearray) -> int:
        """Return the length of the first answer in the bytes, or UNKNOWN if more bytes are needed."""

    def body(self, answer: bytes) -> bytes:
        """Return the message in one complete answer."""


class Refused(Exception):
    """The server did not accept the connection for messages."""


def open_socket(endpoint: Endpoint) -> socket.socket:
    """Return a TCP connection with TCP_NODELAY."""
    connection = socket.create_connection((endpoint.host, endpoint.port), timeout=10)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.settimeout(None)  # a timeout costs an additional system call for each read and write
    return connection


class Http:
    """POST with keep-alive; answers have a length or are chunked."""

    name = "http"

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._sizes: dict[bytes, int] = {}

    def opening(self) -> bytes:
        """Return nothing: a request can be sent immediately."""
        return b""

    def connect(self) -> socket.socket:
        """Return a plain TCP connection."""
        return open_socket(self.endpoint)

    def frame(self, body: bytes) -> bytes:
        """Return the request with its head."""
        head = (
            f"POST {self.endpoint.http_path} HTTP/1.1\r\n"
            f"Host: {self.endpoint.host}:{self.endpoint.port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    def size(self, received: bytes | bytearray) -> int:
        """Return the length of head and body together."""
        end = received.find(b"\r\n\r\n")
        if end < 0:
            return UNKNOWN
        head = bytes(received[:end])
        length = self._sizes.get(head)
        if length is None:
            if len(self._sizes) > HEAD_CACHE:
                self._sizes.clear()
            length = self._sizes[head] = _content_length(head)
        if length >= 0:
            return end + 4 + length
        return len(received) if received.endswith(b"0\r\n\r\n") else UNKNOWN

    def body(self, answer: bytes) -> bytes:
        """Return the body, its chunks joined."""
        head, _, rest = answer.partition(b"\r\n\r\n")
        if _content_length(head) >= 0:
            return rest
        chunks: list[bytes] = []
        while True:
            size, _, rest = rest.partition(b"\r\n")
            length = int(size, 16)
            if length == 0:
                return b"".join(chunks)
            chunks.append(rest[:length])
            rest = rest[length + 2 :]


class Pages(Http):
    """GET with keep-alive: a message is the path of a page."""

    @override
    def frame(self, body: bytes) -> bytes:
        """Return the request for a path."""
        host = f"{self.endpoint.host}:{self.endpoint.port}"
        return b"GET %b HTTP/1.1\r\nHost: %b\r\n\r\n" % (body, host.encode())


def _content_length(head: bytes) -> int:
    """Return the content length in a head, or UNKNOWN if it has none."""
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return UNKNOWN


class WebSocket:
    """The part of RFC 6455 that text messages need; masked with zeros, which costs nothing."""

    name = "ws"

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint

    def opening(self) -> bytes:
        """Return the opening handshake."""
        key = base64.b64encode(b"benchmarks of it").decode()
        return (
            f"GET {self.endpoint.ws_path} HTTP/1.1\r\n"
            f"Host: {self.endpoint.host}:{self.endpoint.port}\r\n"
            "Upgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n"
        ).encode()

    def connect(self) -> socket.socket:
        """Return a connection after the opening handshake.

        Raises:
            Refused: The server's status is not 101.
        """
        connection = open_socket(self.endpoint)
        connection.sendall(self.opening())
        answer = b""
        while b"\r\n\r\n" not in answer:
            # One byte at a time: bytes after the head belong to the first message.
            byte = connection.recv(1)
            if not byte:
                break
            answer += byte
        if not answer.startswith(b"HTTP/1.1 101"):
            connection.close()
            raise Refused(answer.decode(errors="replace").partition("\r\n")[0])
        return connection

    def frame(self, body: bytes) -> bytes:
        """Return the text message as one masked frame."""
        length = len(body)
        if length < 126:
            head = bytes((0x81, 0x80 | length))
        elif length < 1 << 16:
            head = bytes((0x81, 0xFE)) + length.to_bytes(2, "big")
        else:
            head = bytes((0x81, 0xFF)) + length.to_bytes(8, "big")
        return head + b"\0\0\0\0" + body

    def size(self, received: bytes | bytearray) -> int:
        """Return the length of the first frame."""
        if len(received) < 2:
            return UNKNOWN
        length = received[1]
        if length < 126:
            return 2 + length
        width = 2 if length == 126 else 8
        if len(received) < 2 + width:
            return UNKNOWN
        return 2 + width + int.from_bytes(received[2 : 2 + width], "big")

    def body(self, answer: bytes) -> bytes:
        """Return the payload of one frame; servers do not mask."""
        return answer[{126: 4, 127: 10}.get(answer[1], 2) :]
