"""Heads of requests as clients write them: read strictly, and once for all requests that share one.

Whatever is unusual in a head in any way is for a whole parser to judge.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from jsonrpc.dispatch.gate import Reply, RequestHead
from jsonrpc.http.replies import Endpoint

_HEADS: Final = 4096
"""Heads that are remembered: clients repeat theirs, but for the length of the body."""

_HEADER: Final = re.compile(rb"([A-Za-z0-9-]+): ?([\x21-\x7e]+(?: [\x21-\x7e]+)*)")
"""A header as clients write it."""

CHANGING: Final = frozenset({b"transfer-encoding", b"expect", b"upgrade", b"connection"})
"""Headers that change what follows; a `connection` that is kept alive does not."""

_REFUSED: Final = CHANGING | {b"x-forwarded-for"}
"""These, and what may stand more than once."""

Headers = Sequence[tuple[bytes, bytes]]
"""Names and values."""


class Known:
    """What a head says, and with what answers to it begin.

    Args:
        text: It, as it came.
        endpoint: Which interface is asked.
        head: The request without its peer.
        length: Bytes of the body.
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
        """Return the beginning of an answer that is JSON, up to the number of its bytes.

        Args:
            defaults: The server's own headers: the same object as long as they are the same.
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
    """Reads heads for the endpoints at their paths."""

    def __init__(self, endpoints: Mapping[str, Endpoint]) -> None:
        # A limit of requests must be asked for each one, which can take time: not here.
        self._endpoints = {
            path.encode(): endpoint
            for path, endpoint in endpoints.items()
            if endpoint.throttle is None
        }
        self.read = lru_cache(maxsize=_HEADS)(self._read)

    def _read(self, text: bytes) -> Known | None:
        """Read a head without its empty line; None for anything that is not plain."""
        line, *lines = text.split(b"\r\n")
        method, _, rest = line.partition(b" ")
        path, _, version = rest.partition(b" ")
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
        return Known(text, endpoint, head, int(length))


def head_of(reply: Reply, defaults: Headers) -> bytes:
    """Return a reply's head as uvicorn writes the raw door's, up to the number of its bytes."""
    content = [STATUS_LINE[reply.status]]
    for name, value in (*defaults, *reply.headers):
        content += (name, b": ", value, b"\r\n")
    return b"".join((*content, b"content-length: "))


def ending(response: bytes) -> bytes:
    """Return a whole response as one after which nothing follows on its connection."""
    return response.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n", 1)


def read_headers(
    lines: Iterable[bytes], refused: Collection[bytes] = _REFUSED
) -> dict[bytes, bytes] | None:
    """Return headers by their names in lower case; None where one is not plain, is double, or is refused."""
    headers: dict[bytes, bytes] = {}
    for one in lines:
        match = _HEADER.fullmatch(one)
        if match is None:
            return None
        name = match[1].lower()
        if name in headers or (name in refused and not _is_keep_alive(name, match[2])):
            return None
        headers[name] = match[2]
    return headers


def _is_keep_alive(name: bytes, value: bytes) -> bool:
    return name == b"connection" and value.lower() == b"keep-alive"
