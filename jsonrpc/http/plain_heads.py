"""Strict parsing of common request heads, once for all requests that share one; and rules in addition to the parser's.

A head that is unusual in any way is left to a complete parser. llhttp itself rejects two lengths, a length together
with a transfer coding, and invalid line ends and spaces.
"""

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import lru_cache
from http import HTTPStatus
from typing import Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from jsonrpc.dispatch.gate import HttpReply, RequestHead
from jsonrpc.http.replies import Endpoint

_HEADS: Final = 4096
"""Number of cached heads. Clients repeat theirs, except for the length of the body."""

_HEADER: Final = re.compile(rb"([A-Za-z0-9-]+): ?([\x21-\x7e]+(?: [\x21-\x7e]+)*)")
"""A header in the usual format."""

_REFUSED: Final = frozenset({
    b"transfer-encoding", b"expect", b"upgrade", b"connection", b"x-forwarded-for",
})  # fmt: skip
"""Headers that change the meaning of the following bytes, except for a `connection` that is kept alive, and one that may
occur several times."""

Headers = Sequence[tuple[bytes, bytes]]
"""Names and values."""


class ParsedHead:
    """A parsed head, and the beginning of the answers to it.

    Args:
        text: The bytes of the head.
        endpoint: The requested interface.
        head: The request without its peer.
        length: Number of bytes of the body.
    """

    __slots__ = ("_defaults", "_start", "_text", "endpoint", "head", "length")

    def __init__(self, text: bytes, endpoint: Endpoint, head: RequestHead, length: int) -> None:
        self._text = text
        self.endpoint = endpoint
        self.head = head
        self.length = length
        self._defaults: Headers | None = None
        self._start = b""

    def start(self, defaults: Headers) -> bytes:
        """Return the beginning of a JSON answer, up to its content length.

        Args:
            defaults: The server's own headers; the same object as long as they do not change.
        """
        if self._defaults is not defaults:
            reply = self.endpoint.gate.accept(self.head, b"")
            self._start = head_of(reply, defaults)
            self._defaults = defaults
            if self.endpoint.whole is not None:
                longest = self.endpoint.longest_plain(self.head)
                self.endpoint.whole.keep_head(
                    self._text, self.length, longest, self._start, defaults
                )
        return self._start


class RequestHeads:
    """Parses heads for endpoints by their paths."""

    def __init__(self, endpoints: Mapping[str, Endpoint]) -> None:
        self._endpoints: dict[bytes, Endpoint] = {}
        self.read = lru_cache(maxsize=_HEADS)(self._read)
        self.add(endpoints)

    def add(self, endpoints: Mapping[str, Endpoint]) -> None:
        """Serve further endpoints by their paths; those with a rate limit are excluded, because checking it may wait."""
        for path, endpoint in endpoints.items():
            if endpoint.throttle is None:
                self._endpoints[path.encode()] = endpoint
        self.read.cache_clear()

    def remove(self, paths: Iterable[str]) -> None:
        """Serve endpoints no longer, by their paths."""
        for path in paths:
            self._endpoints.pop(path.encode(), None)
        self.read.cache_clear()

    def _read(self, text: bytes) -> ParsedHead | None:
        """Parse a head without its empty line; return None for anything unusual."""
        line, *lines = text.split(b"\r\n")
        method, _, target_and_version = line.partition(b" ")
        path, _, version = target_and_version.partition(b" ")
        endpoint = self._endpoints.get(path)
        if endpoint is None or method != b"POST" or version != b"HTTP/1.1":
            return None
        headers = read_headers(lines)
        if headers is None:
            return None
        length = headers.get(b"content-length", b"")
        head = RequestHead("POST", headers, has_query=False, peer="")
        if not length.isdigit() or endpoint.gate.screen(head) is not None:
            return None
        return ParsedHead(text, endpoint, head, int(length))


def head_of(reply: HttpReply, defaults: Headers) -> bytes:
    """Return a reply's head exactly as uvicorn writes it, up to the content length."""
    content = [STATUS_LINE[reply.status]]
    for name, value in (*defaults, *reply.headers):
        content += (name, b": ", value, b"\r\n")
    return b"".join((*content, b"content-length: "))


def ending(response: bytes) -> bytes:
    """Return a complete response with the header that closes its connection."""
    return response.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n", 1)


def read_headers(lines: Iterable[bytes]) -> dict[bytes, bytes] | None:
    """Return headers by their names in lower case; None if one is unusual, repeated, or refused."""
    headers: dict[bytes, bytes] = {}
    for line in lines:
        match = _HEADER.fullmatch(line)
        if match is None:
            return None
        name = match[1].lower()
        if name in headers or (name in _REFUSED and not _is_keep_alive(name, match[2])):
            return None
        headers[name] = match[2]
    return headers


def _is_keep_alive(name: bytes, value: bytes) -> bool:
    return name == b"connection" and value.lower() == b"keep-alive"


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
    """Refuse heads that two parsers could interpret differently, and heads larger than `maximum` bytes.

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
