"""The ASGI application for RPC: POST on the RPC paths goes to the dispatcher directly, without a framework.

All other paths and protocols are passed to the application behind it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, MutableMapping
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from jsonrpc.dispatch.dispatcher import Body
from jsonrpc.dispatch.gate import Gate, HttpConnection, HttpReply, RequestHead
from jsonrpc.dispatch.inflight import Replies
from jsonrpc.errors import Overloaded
from jsonrpc.http import delivery
from jsonrpc.http.answering import Answering, closing
from jsonrpc.http.delivery import (
    STALL_SECONDS,
    Message,
    NotRead,
    Send,
    abandon,
    is_gone,
    send_in_parts,
)
from jsonrpc.http.replies import Endpoint
from jsonrpc.limits.memory import SMALL, MemoryShare, RequestMemory

Scope = MutableMapping[str, Any]
Receive = Callable[[], Coroutine[Any, Any, Message]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

READ_BEFORE: Final = "jsonrpc.body"
"""Key in a scope's state for the `Body` of a request that the fast path has already read."""

_log: Final = logging.getLogger("jsonrpc")

_JOINED: Final = frozenset({b"x-forwarded-for", b"host", b"origin", b"content-length"})

_DIGITS: Final = 18
"""Maximal digits of a content length that is parsed; a longer number is too large anyway."""


class _ClientDisconnected(Exception):
    """The client disconnected before its request was complete."""


class _BodyTooLarge(Exception):
    """The body is longer than allowed."""


class AsgiRpc:
    """An ASGI application in front of another one.

    Args:
        endpoints: by exact path (see `http.by_path`); endpoints may be added later.
        fallback: the application for everything else.
        answering: answers the bodies, for all transports of the process.
        gate: guards all other paths, if given: it answers CORS preflights, and rejects hosts.
        replies: counts the replies of that gate.
        body_seconds: how long a client may take to send its body.
        memory: that of the process if it has other transports; otherwise this application has its own.
        takes_body: returns whether another path accepts a body; otherwise the body is not read.
        other_body: maximal bytes of a body at another path, or a function from the path to that limit.
        stall_seconds: how long a client may take for each part of a long answer.
        pages: paths of interfaces at which the other application has a page, for GET and HEAD.
        load_others: awaited before a request to another path; if it raises, the reply is a 503. Only with a gate.
    """

    def __init__(
        self,
        endpoints: Mapping[str, Endpoint],
        fallback: Application,
        answering: Answering,
        *,
        gate: Gate | None = None,
        replies: Replies | None = None,
        body_seconds: float = 30.0,
        memory: RequestMemory | None = None,
        takes_body: Callable[[str], bool] = lambda _: True,
        other_body: int | Callable[[str], int] = 262_144,
        stall_seconds: float = STALL_SECONDS,
        pages: Collection[str] = (),
        load_others: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._pages = frozenset(pages)
        self._load_others = load_others
        self._endpoints = endpoints
        self._fallback = fallback
        self._gate = gate
        self._replies = replies or Replies()
        self._body_seconds = body_seconds
        self._answering = answering
        self._memory = memory or RequestMemory()
        self._takes_body = takes_body
        self._other_body = other_body
        self._stall = stall_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            return await self._fallback(scope, receive, send)
        endpoint = self._endpoints.get(scope["path"])
        is_page = scope["path"] in self._pages and scope["method"] in {"GET", "HEAD"}
        if endpoint is None or is_page:
            return await self._serve_other(scope, receive, send)
        head = read_head(scope)
        reply = endpoint.gate.screen(head)
        if reply is not None:
            endpoint.replies.count(head.method, reply.status)
            return await _send(send, reply, with_body=head.method != "HEAD")
        connection = HttpConnection(endpoint.gate, head, partial(is_gone, send))
        share = MemoryShare(self._memory, lambda: connection.client)
        try:
            before = _read_before(scope)
            reply = await self._reply(endpoint, head, receive, connection, share, before=before)
            endpoint.replies.count(head.method, reply.status)
            if len(reply.body) <= SMALL:
                share.give_back()
                return await _send(send, reply)
            return await _send_long(send, reply, self._stall)
        except _ClientDisconnected:
            return None
        finally:
            share.give_back()

    async def _reply(
        self,
        endpoint: Endpoint,
        head: RequestHead,
        receive: Receive,
        connection: HttpConnection,
        share: MemoryShare,
        *,
        before: Body | None,
    ) -> HttpReply:
        """Read the body and answer it. The bytes of long bodies and answers are counted until `share` is released."""
        gate = endpoint.gate
        try:
            text = await self._read(receive, gate.config.max_body, share)
            body = before if before is not None and before.text == text else Body(text)
            # The fast path has found that the event loop cannot answer this body.
            missed = body is before
            reply = await self._answering.answer_http(
                endpoint, head, body, connection, missed=missed
            )
            if len(reply.body) > SMALL:
                share.grow(len(text) + len(reply.body))
        except _BodyTooLarge:
            return closing(gate.too_large(head))
        except TimeoutError:
            return closing(gate.too_slow(head))
        except Overloaded:
            return closing(endpoint.busy(head, b""))
        return reply

    async def _serve_other(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve another path; the other application gets only acceptable requests with complete bodies."""
        gate = self._gate
        if gate is None:
            return await self._fallback(scope, receive, send)
        head = read_head(scope)
        reply = _guard(gate, head) or await self._loaded(gate, head)
        share = MemoryShare(self._memory, lambda: gate.client(head))
        try:
            if reply is None and _has_body(head):
                body = await self._read_other(gate, head, scope["path"], receive, share)
                if isinstance(body, HttpReply):
                    reply = closing(body)
                else:
                    receive = _with_body(body, receive)
            if reply is None:
                return await self._fallback(scope, receive, send)
        except _ClientDisconnected:
            return None
        finally:
            share.give_back()
        self._replies.count(scope["method"], reply.status)
        return await _send(send, reply, with_body=scope["method"] != "HEAD")

    async def _loaded(self, gate: Gate, head: RequestHead) -> HttpReply | None:
        """Wait until the other application is loaded; return the reply if that fails."""
        if self._load_others is None:
            return None
        try:
            await self._load_others()
        except Exception:
            _log.exception("what answers the other paths could not be loaded")
            return _try_later(gate, head)
        return None

    async def _read_other(
        self, gate: Gate, head: RequestHead, path: str, receive: Receive, share: MemoryShare
    ) -> bytes | HttpReply:
        """Return the whole body, or the reply if it must not be read."""
        limit = self._other_body
        maximum = limit if isinstance(limit, int) else limit(path)
        if not self._takes_body(path):
            return gate.refuse(HTTPStatus.NOT_FOUND, "404 page not found", head)
        length = head.headers.get(b"content-length", b"0")
        if not length.isdigit() or len(length) > _DIGITS or int(length) > maximum:
            return gate.too_large(head, maximum)
        try:
            return await self._read(receive, maximum, share)
        except _BodyTooLarge:
            return gate.too_large(head, maximum)
        except TimeoutError:
            return gate.too_slow(head)
        except Overloaded:
            return _try_later(gate, head)

    async def _read(self, receive: Receive, maximum: int, share: MemoryShare) -> bytes:
        """Return the whole body. Usually it has already arrived, and then no timer is set."""
        first = delivery.start(receive())
        if not isinstance(first, delivery.PausedWork) and not first.get("more_body"):
            part = _part(first, maximum)
            share.grow(len(part))
            return part
        parts: list[bytes] = []
        size = 0
        async with asyncio.timeout(self._body_seconds):
            message = await first if isinstance(first, delivery.PausedWork) else first
            while True:
                parts.append(_part(message, maximum - size))
                size += len(parts[-1])
                share.grow(size)
                if not message.get("more_body"):
                    return b"".join(parts)
                message = await receive()


def read_head(scope: Scope) -> RequestHead:
    """Return the head of a request; repeated headers are joined if they decide something.

    For example, two `Host` headers are an invalid host, whichever of them a proxy in front has used.
    """
    lines = scope["headers"]
    headers = dict(lines)
    if len(headers) != len(lines):
        for name in _JOINED.intersection(headers):
            headers[name] = b",".join(value for other, value in lines if other == name)
    client = scope.get("client")
    return RequestHead(
        scope.get("method", "GET"),
        headers,
        bool(scope["query_string"]),
        client[0] if client else "",
    )


def _read_before(scope: Scope) -> Body | None:
    body: Body | None = scope.get("state", {}).get(READ_BEFORE)
    return body


def _guard(gate: Gate, head: RequestHead) -> HttpReply | None:
    """Return the reply to a request that must not reach the other application, else None."""
    # Browsers send a preflight before they call any path; the answer is the same for all paths.
    if head.method == "OPTIONS" and b"access-control-request-method" in head.headers:
        return gate.preflight(head)
    if not gate.host_allowed(head.headers.get(b"host", b"")):
        return gate.refuse(HTTPStatus.FORBIDDEN, gate.wrong_host, head)
    return None


def _try_later(gate: Gate, head: RequestHead) -> HttpReply:
    retry = (b"retry-after", b"1")
    return gate.refuse(HTTPStatus.SERVICE_UNAVAILABLE, "try again later", head, retry)


def _has_body(head: RequestHead) -> bool:
    length = head.headers.get(b"content-length", b"0")
    return length != b"0" or b"transfer-encoding" in head.headers


def _with_body(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that yields an already read body first, then later messages."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_body_first() -> Message:
        return messages.pop() if messages else await receive()

    return receive_body_first


def _part(message: Message, maximum: int) -> bytes:
    if message["type"] == "http.disconnect":
        raise _ClientDisconnected
    part: bytes = message.get("body", b"")
    if len(part) > maximum:
        raise _BodyTooLarge
    return part


async def _send(send: Send, reply: HttpReply, *, with_body: bool = True) -> None:
    await send(_start(reply))
    await send({"type": "http.response.body", "body": reply.body if with_body else b""})


async def _send_long(send: Send, reply: HttpReply, stall: float) -> None:
    """Send a reply in parts, since the server would keep all of it; cut off a client that stops reading."""
    try:
        await send_in_parts(_start(reply), send, stall)
        await send_in_parts({"type": "http.response.body", "body": reply.body}, send, stall)
    except NotRead:
        await abandon(send)


def _start(reply: HttpReply) -> Message:
    length = (b"content-length", b"%d" % len(reply.body))
    headers = [*reply.headers, length] if reply.status != 204 else [*reply.headers]
    return {"type": "http.response.start", "status": reply.status, "headers": headers}
