"""A connection for arbitrary bytes, including invalid ones that no client library would send."""

import re
import socket

SECONDS = 60.0
"""Limit of the wait for data."""


class RawConnection:
    """A connection that sends arbitrary bytes."""

    def __init__(self, port: int, source: str = "127.0.0.1") -> None:
        self.socket = socket.create_connection(
            ("127.0.0.1", port), SECONDS, source_address=(source, 0)
        )
        self._rest = b""

    def say(self, text: bytes) -> None:
        self.socket.sendall(text)

    def response(self) -> tuple[int, bytes, bytes]:
        """Read one response that has a content length: status, head, body."""
        while b"\r\n\r\n" not in self._rest:
            self._more()
        head, _, self._rest = self._rest.partition(b"\r\n\r\n")
        found = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
        length = int(found[1]) if found else 0
        while len(self._rest) < length:
            self._more()
        body, self._rest = self._rest[:length], self._rest[length:]
        return int(head.split()[1]), head.lower(), body

    def read(self, count: int) -> bytes:
        """Read `count` bytes."""
        while len(self._rest) < count:
            self._more()
        found, self._rest = self._rest[:count], self._rest[count:]
        return found

    def until_closed(self) -> bytes:
        """Read until the server closes the connection."""
        received, self._rest = self._rest, b""
        try:
            while part := self.socket.recv(65_536):
                received += part
        except ConnectionResetError:
            pass
        return received

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> "RawConnection":
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def _more(self) -> None:
        part = self.socket.recv(65_536)
        assert part, f"the connection ended after {self._rest!r}"
        self._rest += part
