"""What a request over HTTP gets, as values: shared by every HTTP door.

A door reads the head, asks `screen`, reads the body, asks `charge`, has the body answered and
hands out what `reply` says. ASGI is in `asgi`, Django in `ninja_door`.
"""

import logging
import math
import re
import zlib
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import Protocol

from asgiref.sync import async_to_sync
from django.http import HttpRequest, HttpResponse

from jsonrpc.dispatch.calls import LIMITED, OVERLOADED
from jsonrpc.dispatch.dispatcher import Dispatcher
from jsonrpc.dispatch.envelope import Body
from jsonrpc.dispatch.gate import Gate, GateConfig, HttpConnection, Reply, RequestHead
from jsonrpc.dispatch.inflight import Replies
from jsonrpc.errors import rate_limit_exceeded, server_busy
from jsonrpc.limits.memory import SMALL
from jsonrpc.limits.recurring import RecurringWarning
from jsonrpc.limits.throttle import Throttle

_log = logging.getLogger("jsonrpc")

_DEFAULTS = GateConfig()

_GZIP_WANTED = re.compile(rb"\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))")

_LONG = 65_536
"""Bytes of an answer that takes longer to compress, 10 ns each, than the event loop should be held up."""

_GZIP = 31
"""The window size that makes zlib write the gzip format."""

GZIPPED = ((b"content-encoding", b"gzip"), (b"vary", b"accept-encoding"))
"""Headers of a body that is compressed so."""


class WholeRequests(Protocol):
    """Answers requests that came whole, head and body, if it can; it counts and tells of what it has answered."""

    def keep_head(
        self, head: bytes, length: int, longest: int, start: bytes, defaults: object
    ) -> None:
        """Remember a head without its empty line.

        Args:
            head: As it came.
            length: Bytes of its body.
            longest: Bytes of an answer that needs no thought: it is neither compressed nor counted.
            start: How such an answer begins, up to the number of its bytes.
            defaults: The server's own headers; it is true as long as they are this object.
        """

    def serve(self, data: bytes, defaults: object, connection: int) -> bytes | None:
        """Return the whole response to a request, None for all that it does not know.

        An empty one: another thread finds it, and `finished` has it when there is something to read from `fileno`.

        Args:
            data: The request.
            defaults: The server's own headers.
            connection: The number of the one on which it came; 0: where nobody waits for other threads.
        """

    def fileno(self) -> int | None:
        """Return what can be read from when `finished` has something; None before the first empty response."""

    def finished(self) -> Sequence[tuple[int, bytes | None]]:
        """Return what other threads have come to, by connection: the response, None where they do not know it."""


class WholeFrames(Protocol):
    """Answers frames of WebSockets that are whole messages, if it can; it tells of what it has answered."""

    def serve(self, data: bytes) -> bytes | None:
        """Return the frame that answers one that came alone, None for all that it does not know."""


class Endpoint:
    """One interface at its paths: a dispatcher behind a gate.

    `paths` are exact; each is also served with a slash at its end. Answers longer than
    `gzip_from` bytes are compressed for clients that accept it (0: never). Doors count in `replies`.
    `whole` answers requests at the direct door whose heads that has read before, `frames` messages
    of WebSockets where they arrive.
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
        whole: WholeRequests | None = None,
        frames: WholeFrames | None = None,
    ) -> None:
        self.paths = tuple(paths)
        self.dispatcher = dispatcher
        self.gate = Gate(config, dispatcher.dialect)
        self.throttle = throttle
        self.replies = replies or Replies()
        self.whole = whole
        self.frames = frames
        self.refused_sockets = RecurringWarning(_log)
        self._gzip_from = gzip_from

    def charge_now(self, head: RequestHead, calls: int) -> float | None:
        """Charge the client for its calls: 0, the seconds to wait, or None to await `charge`."""
        if self.throttle is None:
            return 0.0
        return self.throttle.take_now(self.gate.client(head), calls)

    async def charge(self, head: RequestHead, calls: int) -> float:
        """Charge the client for its calls, asking whoever keeps the buckets."""
        if self.throttle is None:
            return 0.0
        return await self.throttle.take(self.gate.client(head), calls)

    def limited(self, head: RequestHead, body: Body, wait: float) -> Reply:
        """The reply to a client that asks too often. `Retry-After` has whole seconds."""
        seconds = max(1, math.ceil(wait))
        text = self.dispatcher.refuse(body, rate_limit_exceeded(), LIMITED)
        return self._later(head, text, HTTPStatus.TOO_MANY_REQUESTS, seconds)

    def busy(self, head: RequestHead, body: bytes | Body) -> Reply:
        """The reply while too many calls wait for a worker.

        Unspecified: geth queues without a limit. A 503 with `Retry-After` is what clients retry.
        """
        text = self.dispatcher.refuse(body, server_busy(), OVERLOADED)
        return self._later(head, text, HTTPStatus.SERVICE_UNAVAILABLE, 1)

    def reply(self, head: RequestHead, answer: bytes | None) -> Reply:
        """The reply with an answer; a body of notifications only gets an empty one."""
        if answer is None:
            return self.gate.accept(head, b"")
        reply = self.gate.accept(head, answer)
        return _compressed(reply) if self.is_compressed(head, answer) else reply

    def longest_plain(self, head: RequestHead) -> int:
        """Bytes of the longest answer that is neither compressed for this client nor counted until it is read."""
        compressed = self._gzip_from and accepts_gzip(head)
        return min(self._gzip_from, SMALL) if compressed else SMALL

    def is_compressed(self, head: RequestHead, answer: bytes) -> bool:
        """Whether an answer is long, and its client takes it compressed."""
        return 0 < self._gzip_from < len(answer) and accepts_gzip(head)

    def compresses_long(self, head: RequestHead, answer: bytes | None) -> bool:
        """Whether an answer is best rendered in a thread: it is long, and is compressed for this client."""
        long = answer is not None and self._gzip_from and len(answer) > _LONG
        return bool(long) and accepts_gzip(head)

    def _later(self, head: RequestHead, text: bytes, status: HTTPStatus, seconds: int) -> Reply:
        reply = self.gate.accept(head, text, status)
        retry = ((b"retry-after", b"%d" % seconds),)
        return reply._replace(headers=reply.headers + retry)


def by_path(endpoints: Iterable[Endpoint]) -> dict[str, Endpoint]:
    """All endpoints by every path that leads to them."""
    table = {}
    for endpoint in endpoints:
        for path in endpoint.paths:
            plain = path.rstrip("/")
            table[plain + "/"] = endpoint
            if plain:
                table[plain] = endpoint
    return table


def accepts_gzip(head: RequestHead) -> bool:
    """Return whether the client takes an answer that is compressed so."""
    return _GZIP_WANTED.search(head.headers.get(b"accept-encoding", b"")) is not None


def _compressed(reply: Reply) -> Reply:
    """The fastest level: it halves JSON with hex in it and costs about 10 ns a byte."""
    body = zlib.compress(reply.body, 1, _GZIP)
    return Reply(reply.status, reply.headers + GZIPPED, body)


def respond(request: HttpRequest, endpoint: Endpoint) -> HttpResponse:
    """Answer a request as the raw door does, byte for byte."""
    head = read_head(request)
    reply = _reply(request, endpoint, head)
    endpoint.replies.count(head.method, reply.status)
    return to_response(reply)


def _reply(request: HttpRequest, endpoint: Endpoint, head: RequestHead) -> Reply:
    gate = endpoint.gate
    reply = gate.screen(head)
    if reply is not None:
        return reply
    # Not `request.body`: Django's own limit would answer with a page of its own.
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
    """Return the head of a request as the gate reads it."""
    headers = {
        name.lower().encode("latin-1"): value.encode("latin-1")
        for name, value in request.headers.items()
    }
    meta = request.META
    return RequestHead(
        request.method or "", headers, bool(meta.get("QUERY_STRING")), meta.get("REMOTE_ADDR", "")
    )


def to_response(reply: Reply) -> HttpResponse:
    """Return a reply as Django sends it: with the reply's own headers only."""
    response = HttpResponse(reply.body, status=reply.status)
    del response.headers["Content-Type"]
    for name, value in reply.headers:
        response.headers[name.decode("latin-1")] = value.decode("latin-1")
    return response
