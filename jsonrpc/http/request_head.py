"""Rules for request heads in addition to those of the parser, applied to the parser's result.

llhttp itself rejects two lengths, a length together with a transfer coding, and invalid line ends and spaces.
"""

from collections.abc import Container, Sequence
from http import HTTPStatus
from typing import Final

Headers = Sequence[tuple[bytes, bytes]]
"""Names in lower case, and values, in order."""

_WEBSOCKET_LINE: Final = 8_000
_WEBSOCKET_LINES: Final = 120
"""Limits of the WebSocket library for a head: bytes of a line, and number of lines."""

_TOO_LARGE: Final = "request head too large"


class HeadRefused(Exception):
    """A head that is refused."""

    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


def check(version: str, target: bytes, headers: Headers, maximum: int | None) -> None:
    """Refuse heads that two parsers could interpret differently, and heads larger than `most` bytes.

    Each request outside of the fast path is checked here.

    Raises:
        HeadRefused: the head is refused.
    """
    if version not in {"1.0", "1.1"}:
        raise HeadRefused(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, "HTTP/1.1 is spoken here")
    if (
        maximum is not None
        and len(target) + sum(len(name) + len(value) + 4 for name, value in headers) > maximum
    ):
        raise HeadRefused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, _TOO_LARGE)
    names = [name for name, _ in headers]
    if b"transfer-encoding" in names:
        codings = [value.lower() for name, value in headers if name == b"transfer-encoding"]
        if codings != [b"chunked"] or version == "1.0":
            raise HeadRefused(HTTPStatus.NOT_IMPLEMENTED, "no transfer coding but chunked is known")
    if names.count(b"host") > 1:
        raise HeadRefused(HTTPStatus.BAD_REQUEST, "more than one Host")


def opens_websocket(
    method: str, version: str, target: bytes, headers: Headers, paths: Container[str] | None
) -> bool:
    """Return whether a head that requests a WebSocket is a valid opening handshake (RFC 6455, 4.1).

    Args:
        method: the request's method.
        version: its HTTP version.
        target: its target.
        headers: its headers.
        paths: the paths with WebSockets; None for all.

    Raises:
        HeadRefused: the head is larger than the WebSocket library accepts.
    """
    names = {name for name, _ in headers}
    fits = method == "GET" and version == "1.1" and target.isascii()
    if not fits or not names.isdisjoint({b"transfer-encoding", b"content-length"}):
        return False
    if paths is not None and target.partition(b"?")[0].decode() not in paths:
        return False
    longest = max(len(name) + len(value) + 2 for name, value in headers)
    if max(longest, len(target)) > _WEBSOCKET_LINE or len(headers) > _WEBSOCKET_LINES:
        raise HeadRefused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, _TOO_LARGE)
    return True


def without_upgrade(method: bytes, version: str, target: bytes, headers: Headers) -> bytes:
    """Return a head without the header that requests another protocol."""
    lines = [b"%b %b HTTP/%b" % (method, target, version.encode())]
    lines += [b"%b: %b" % header for header in headers if header[0] != b"upgrade"]
    return b"\r\n".join((*lines, b"", b""))
