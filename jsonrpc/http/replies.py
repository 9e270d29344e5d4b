"""Replies to HTTP requests as values, shared by every HTTP transport.

A transport reads the head, calls `screen`, reads the body, calls `charge`, has the body answered and sends the
result of `reply`. `asgi` is the ASGI transport; `respond` serves Django.
"""

import logging
import math
import re
import zlib
from collections.abc import Callable, Iterable, Sequence
from http import HTTPStatus
from typing import Protocol

from asgiref.sync import async_to_sync
from django.http import HttpRequest, HttpResponse

from jsonrpc.dispatch.calls import LIMITED, OVERLOADED
from jsonrpc.dispatch.dispatcher import Body, Dispatcher
from jsonrpc.dispatch.gate import Gate, GateConfig, HttpConnection, HttpReply, RequestHead
from jsonrpc.dispatch.inflight import Replies
from jsonrpc.errors import rate_limit_exceeded, server_busy
from jsonrpc.limits.memory import SMALL
from jsonrpc.limits.throttle import RecurringWarning, Throttle

_log = logging.getLogger("jsonrpc")

_DEFAULTS = GateConfig()

_GZIP_WANTED = re.compile(rb"\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))")

_LONG = 65_536
"""Bytes of an answer whose compression, at 10 ns per byte, would block the event loop for too long."""

_GZIP = 31
"""The window size that makes zlib write the gzip format."""

GZIPPED = ((b"content-encoding", b"gzip"), (b"vary", b"accept-encoding"))
"""Headers of a compressed body."""


class WholeRequests(Protocol):
    """Answers complete requests, head and body, if it can, and counts and reports them."""

    def keep_head(
        self, head: bytes, length: int, longest: int, start: bytes, defaults: object
    ) -> None:
        """Cache a head without its empty line.

        Args:
            head: The bytes of the head.
            length: Number of bytes of its body.
            longest: Bytes of the longest answer that is neither compressed nor counted.
            start: The beginning of such an answer, up to its content length.
            defaults: The server's own headers. The head is valid as long as they are the same object.
        """

    def serve(self, data: bytes, defaults: object, connection: int) -> bytes | None:
        """Return the complete response to a request, or None for an unknown one.

        An empty response means that another thread computes it; `finished` returns it when `fileno` is readable.

        Args:
            data: The request.
            defaults: The server's own headers.
            connection: The number of its connection; 0 if the caller does not wait for other threads.
        """

    def fileno(self) -> int | None:
        """Return the file descriptor that is readable when `finished` has results; None before it is needed."""

    def finished(self) -> Sequence[tuple[int, bytes | None]]:
        """Return the results of other threads by connection: the response, or None for an unknown request."""


class WholeFrames(Protocol):
    """Answers WebSocket frames that are complete messages, if it can, and reports them."""

    def serve(self, data: bytes) -> tuple[bytes, int] | None:
        """Return the frames that answer the first frames of the data, and the number of bytes of the answered ones.

        It stops at the first frame that it cannot answer, and after many frames or bytes of answers. None: it cannot
        answer the first one.
        """


class Endpoint:
    """One interface at its paths: a dispatcher behind a gate.

    `paths` are exact; each is also served with a trailing slash. Answers longer than `gzip_from` bytes are
    compressed for clients that accept it (0: never). Transports count in `replies`. `whole` answers requests on the
    fast path if their heads are cached; `frames` answers WebSocket messages where they arrive.
    """

    def __init__(
        self,
        paths: Iterable[str],
        dispatcher: Dispatcher,
        config: GateConfig = _DEFAULTS,
        throttle: Throttle | None = None,
        *,
        gzip_from: int = 4096,
        replies: Replies | None = None,
        requests: WholeRequests | None = None,
        frames: WholeFrames | None = None,
    ) -> None:
        self.paths = tuple(paths)
        self.dispatcher = dispatcher
        self.gate = Gate(config, dispatcher.dialect)
        self.throttle = throttle
        self.replies = replies or Replies()
        self.whole = requests
        self.frames = frames
        self.refused_sockets = RecurringWarning(_log)
        self._gzip_from = gzip_from

    def charge_now(self, head: RequestHead, calls: int) -> float | None:
        """Charge the client for its calls; return 0, the seconds to wait, or None to await `charge`."""
        if self.throttle is None:
            return 0.0
        return self.throttle.take_now(self.gate.client(head), calls)

    async def charge(self, head: RequestHead, calls: int) -> float:
        """Charge the client for its calls in the shared buckets; return 0 or the seconds to wait."""
        if self.throttle is None:
            return 0.0
        return await self.throttle.take(self.gate.client(head), calls)

    def limited(self, head: RequestHead, body: Body, wait: float) -> HttpReply:
        """Return the reply to a client beyond its rate limit. `Retry-After` has whole seconds."""
        seconds = max(1, math.ceil(wait))
        text = self.dispatcher.refuse(body, rate_limit_exceeded(), LIMITED)
        return self._later(head, text, HTTPStatus.TOO_MANY_REQUESTS, seconds)

    def busy(self, head: RequestHead, body: bytes | Body) -> HttpReply:
        """Return the reply while too many calls wait for a worker.

        Unspecified: geth queues without a limit. Clients retry after a 503 with `Retry-After`.
        """
        text = self.dispatcher.refuse(body, server_busy(), OVERLOADED)
        return self._later(head, text, HTTPStatus.SERVICE_UNAVAILABLE, 1)

    def reply(self, head: RequestHead, answer: bytes | None) -> HttpReply:
        """Return the reply with an answer; a body of notifications only gets an empty one."""
        if answer is None:
            return self.gate.accept(head, b"")
        reply = self.gate.accept(head, answer)
        return _compressed(reply) if self.is_compressed(head, answer) else reply

    def reply_with(self, head: RequestHead, work: Callable[[], bytes | None]) -> HttpReply:
        """Return the reply with the answer that `work` returns. A worker thread calls this, to compress it as well."""
        return self.reply(head, work())

    def longest_plain(self, head: RequestHead) -> int:
        """Return the size of the longest answer that is neither compressed for this client nor counted as unread."""
        compressed = self._gzip_from and accepts_gzip(head)
        return min(self._gzip_from, SMALL) if compressed else SMALL

    def is_compressed(self, head: RequestHead, answer: bytes) -> bool:
        """Return whether an answer is long, and its client accepts compression."""
        return 0 < self._gzip_from < len(answer) and accepts_gzip(head)

    def compresses_long(self, head: RequestHead, answer: bytes | None) -> bool:
        """Return whether an answer should be rendered in a thread, because it is long and must be compressed."""
        long = answer is not None and self._gzip_from and len(answer) > _LONG
        return bool(long) and accepts_gzip(head)

    def _later(self, head: RequestHead, text: bytes, status: HTTPStatus, seconds: int) -> HttpReply:
        reply = self.gate.accept(head, text, status)
        retry = ((b"retry-after", b"%d" % seconds),)
        return reply._replace(headers=reply.headers + retry)


def by_path(endpoints: Iterable[Endpoint]) -> dict[str, Endpoint]:
    """Return all endpoints by all of their paths."""
    table = {}
    for endpoint in endpoints:
        for path in endpoint.paths:
            plain = path.rstrip("/")
            table[plain + "/"] = endpoint
            if plain:
                table[plain] = endpoint
    return table


def accepts_gzip(head: RequestHead) -> bool:
    """Return whether the client accepts gzip."""
    return _GZIP_WANTED.search(head.headers.get(b"accept-encoding", b"")) is not None


def _compressed(reply: HttpReply) -> HttpReply:
    """Compress with the fastest level, which halves JSON with hex in it and costs about 10 ns per byte."""
    body = zlib.compress(reply.body, 1, _GZIP)
    return HttpReply(reply.status, reply.headers + GZIPPED, body)


def respond(request: HttpRequest, endpoint: Endpoint) -> HttpResponse:
    """Answer a request with exactly the bytes of the ASGI transport."""
    head = read_head(request)
    reply = _reply(request, endpoint, head)
    endpoint.replies.count(head.method, reply.status)
    return to_response(reply)


def _reply(request: HttpRequest, endpoint: Endpoint, head: RequestHead) -> HttpReply:
    gate = endpoint.gate
    reply = gate.screen(head)
    if reply is not None:
        return reply
    # Not `request.body`, whose limit in Django has an HTML page as its answer.
    text = request.read(gate.config.max_body + 1)
    if len(text) > gate.config.max_body:
        return gate.too_large(head)
    body = Body(text)
    calls = endpoint.dispatcher.count(body) if endpoint.throttle is not None else 0
    wait = endpoint.charge_now(head, calls)
    if wait is None:
        wait = async_to_sync(endpoint.charge)(head, calls)
    if wait:
        return endpoint.limited(head, body, wait)
    return endpoint.reply(head, endpoint.dispatcher.answer(body, HttpConnection(gate, head)))


def read_head(request: HttpRequest) -> RequestHead:
    """Return the head of a request in the gate's format."""
    headers = {
        name.lower().encode("latin-1"): value.encode("latin-1")
        for name, value in request.headers.items()
    }
    meta = request.META
    return RequestHead(
        request.method or "", headers, bool(meta.get("QUERY_STRING")), meta.get("REMOTE_ADDR", "")
    )


def to_response(reply: HttpReply) -> HttpResponse:
    """Return a reply as a Django response, with the reply's own headers only."""
    response = HttpResponse(reply.body, status=reply.status)
    del response.headers["Content-Type"]
    for name, value in reply.headers:
        response.headers[name.decode("latin-1")] = value.decode("latin-1")
    return response
