"""One WebSocket from its opening to its end, over plain ASGI: messages in, answers out.

One message is one body. It is answered immediately if possible; the rest goes to the workers, partly together with
calls from other sockets and from HTTP. Therefore answers may arrive in any order. `outbound` writes, `hub` has the
subscriptions, `websocket` connects to Channels.
"""

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, Literal

from jsonrpc.dispatch.caller import UNKNOWN_CALLER, caller_of
from jsonrpc.dispatch.calls import LIMITED, OVERLOADED, STOP
from jsonrpc.dispatch.dispatcher import MISS, Body, HotAnswer, Miss
from jsonrpc.dispatch.envelope import NULL
from jsonrpc.dispatch.gate import UNAUTHORIZED, Header, RequestHead
from jsonrpc.errors import (
    Overloaded,
    ServiceEnded,
    TooManyConnections,
    parse_error,
    rate_limit_exceeded,
    server_busy,
)
from jsonrpc.http.answering import Answering, give_up
from jsonrpc.http.asgi_rpc import Receive, Scope, read_head
from jsonrpc.http.delivery import PART, STALL_SECONDS, Message, transport_of
from jsonrpc.http.replies import Endpoint
from jsonrpc.limits.memory import SMALL, MemoryShare, RequestMemory
from jsonrpc.websocket.hub import Hub, SocketExchange
from jsonrpc.websocket.outbound import TRY_AGAIN_LATER, OutboundLimits, Send, SocketWriter
from jsonrpc.websocket.uvicorn_protocol import AnswerAtOnce, AnswerFrames, GuardedWebSocket

INVALID_TEXT: Final = 1007
MESSAGE_TOO_BIG: Final = 1009

_log: Final = logging.getLogger("jsonrpc")

_MAX_SHOWN: Final = 100
"""Bytes of a header that are logged."""

_PATIENCE: Final = 6
"""Additional parts for which a peer gets time, because messages sent before come first."""


@dataclass(frozen=True, slots=True)
class SocketLimits:
    """Limits: bytes of one message, calls of one socket that may wait for workers, and the output queue.

    `stall`: seconds that a peer may take for each part of a long answer.
    """

    message: int = 32 * 1024 * 1024
    pending: int = 64
    outbound: OutboundLimits = field(default_factory=OutboundLimits)
    stall: float = STALL_SECONDS


class Session:
    """One socket of an endpoint."""

    def __init__(
        self,
        endpoint: Endpoint,
        hub: Hub,
        answering: Answering,
        *,
        limits: SocketLimits,
        memory: RequestMemory,
        send: Send,
    ) -> None:
        self._endpoint = endpoint
        self._dispatcher = endpoint.dispatcher
        self._hub = hub
        self._answering = answering
        self._limits = limits
        self._memory = memory
        self._send = send
        self._tasks: set[asyncio.Task[None]] = set()
        self._socket = SocketWriter(send, limits.outbound, self._abandon, memory.unread)
        self._client = ""
        """The key under which the client is counted."""
        self._caller = UNKNOWN_CALLER
        self._tried: tuple[bytes, Literal[Miss.MISS] | None] | None = None
        """The message for which the shortcut was tried where it arrived, and the result."""
        self._main: asyncio.Task[Any] | None = None
        self._abandoned = False
        failure = self._dispatcher.dialect.failure(NULL, parse_error())
        self._parse_error = failure[: failure.index(b'"message"')]

    async def run(self, scope: Scope, receive: Receive) -> None:
        """Open the socket or refuse it, and serve it until it is closed."""
        self._main = asyncio.current_task()
        head = read_head(scope)
        await receive()
        refusal = self._refusal(head)
        if refusal is not None:
            await self._refuse(scope, head, *refusal)
            return
        self._client = self._endpoint.gate.client(head)
        self._caller = caller_of(head.headers, head.peer)
        try:
            self._hub.connect(self._socket, self._client)
        except TooManyConnections:
            await self._refuse(scope, head, HTTPStatus.SERVICE_UNAVAILABLE, "too many connections")
            return
        except ServiceEnded as ended:
            await self._refuse(scope, head, HTTPStatus.NOT_FOUND, str(ended))
            return
        try:
            await self._send({"type": "websocket.accept"})
            self._socket.accepted(self._client)
            self._watch_unread()
            self._answer_on_arrival(self._at_once, self._frames_at_once)
            await self._serve(head, receive)
        except asyncio.CancelledError:
            if not self._abandoned:
                raise
        finally:
            self._answer_on_arrival(None, None)
            self._hub.disconnect(self._socket)
            self._socket.lose()
            for task in self._tasks:
                task.cancel()

    def _answer_on_arrival(
        self, answer: AnswerAtOnce | None, answer_frames: AnswerFrames | None
    ) -> None:
        """Have the server pass on messages where they arrive, if it can and there is no rate limit."""
        protocol = getattr(self._send, "__self__", None)
        if isinstance(protocol, GuardedWebSocket) and self._endpoint.throttle is None:
            protocol.answer_at_once = answer
            if self._endpoint.frames is not None:
                protocol.answer_frames = answer_frames

    def _watch_unread(self) -> None:
        """Have the server report unread output to the connection, if it can."""
        protocol = getattr(self._send, "__self__", None)
        if isinstance(protocol, GuardedWebSocket):
            protocol.unread_changed = self._socket.wait_at_server

    def _frames_at_once(self, data: bytes) -> int:
        """Answer the first messages by their frames, as long as nothing must wait or be counted.

        Returns the number of bytes of the answered frames. The answers are written together.
        """
        frames, connection = self._endpoint.frames, self._socket
        if frames is None or not connection.writes_at_once or self._is_full():
            return 0
        try:
            served = frames.serve(data)
        except STOP:
            raise
        except BaseException:
            # A panic in a native extension is not an `Exception`.
            _log.exception("a frame could not be answered")
            return 0
        if served is None:
            return 0
        response, size = served
        return size if connection.write(response) else 0

    def _is_full(self) -> bool:
        """Return whether this socket has the maximal number of calls in progress."""
        return len(self._tasks) >= self._limits.pending

    def _at_once(self, text: bytes) -> bool:
        """Answer a message with the dispatcher's shortcut; return whether that was possible."""
        if self._socket.closed or self._is_full():
            return False
        answer = self._dispatcher.answer_by_shortcut(text)
        if not isinstance(answer, bytes):
            self._tried = text, answer
            return False
        if len(answer) <= SMALL:
            self._socket.push(answer)
        else:
            exchange = SocketExchange(self._hub, self._socket, self._client, self._caller)
            self._spawn(
                self._deliver(exchange, answer, text),
                MemoryShare(self._memory, lambda: self._client),
            )
        return True

    def _refusal(self, head: RequestHead) -> tuple[HTTPStatus, str, tuple[Header, ...]] | None:
        """Return the reason to refuse the socket, if there is one, with headers for it."""
        gate = self._endpoint.gate
        if not gate.host_allowed(head.headers.get(b"host", b"")):
            return HTTPStatus.FORBIDDEN, gate.wrong_host, ()
        if not gate.websocket_origin_allowed(head.headers.get(b"origin", b"")):
            return HTTPStatus.FORBIDDEN, "origin not allowed", ()
        tokens, authorization = gate.config.tokens, head.headers.get(b"authorization", b"")
        if not tokens.accepts(authorization):
            challenge = (b"www-authenticate", tokens.challenge(authorization))
            return HTTPStatus.UNAUTHORIZED, UNAUTHORIZED, (challenge,)
        return None

    async def _refuse(
        self,
        scope: Scope,
        head: RequestHead,
        status: HTTPStatus,
        text: str,
        extra: tuple[Header, ...] = (),
    ) -> None:
        """Refuse with a status if the server can send one; else by a close before opening, which is a 403.

        Clients must be able to distinguish a full process, so in that case the socket is opened first.
        """
        self._endpoint.replies.count("GET", status)
        self._endpoint.refused_sockets.log(
            "a WebSocket from %s was refused: %s; Host: %s, Origin: %s",
            self._endpoint.gate.client(head),
            text,
            *(
                head.headers.get(name, b"")[:_MAX_SHOWN].decode("latin-1")
                for name in (b"host", b"origin")
            ),
        )
        if "websocket.http.response" in (scope.get("extensions") or {}):
            headers = [(b"content-type", b"text/plain; charset=utf-8"), *extra]
            body = f"{text}\n".encode()
            start = {"type": "websocket.http.response.start", "status": status, "headers": headers}
            await self._send(start)
            await self._send({"type": "websocket.http.response.body", "body": body})
            return
        if status == HTTPStatus.SERVICE_UNAVAILABLE:
            await self._send({"type": "websocket.accept"})
        await self._socket.close(TRY_AGAIN_LATER, text)

    async def _serve(self, head: RequestHead, receive: Receive) -> None:
        """Process messages one by one; none is taken while the peer does not read its answers."""
        while (message := await receive())["type"] != "websocket.disconnect":
            body = _body_of(message)
            del message  # otherwise its memory is held until the next message arrives
            if self._socket.closed:
                continue
            if len(body.text) > self._limits.message:
                await self._socket.close(MESSAGE_TOO_BIG, "message too big")
                continue
            await self._handle(head, body)
            del body
            await self._socket.drained()

    async def _handle(self, head: RequestHead, body: Body) -> None:
        """Answer immediately, or let a worker answer, within the limit of the socket's calls in progress."""
        exchange = SocketExchange(self._hub, self._socket, self._client, self._caller)
        share = MemoryShare(self._memory, lambda: self._client)
        try:
            share.grow(len(body.text))
        except Overloaded:
            await self._deliver(exchange, self._dispatcher.refuse(b"", server_busy(), OVERLOADED))
            return
        handed_on = False
        try:
            if self._endpoint.throttle is not None:
                refusal = await self._charge(head, body)
                if refusal is not None:
                    await self._deliver(exchange, refusal)
                    return
            answer = self._answer_hot(exchange, body)
            if answer is not MISS:
                await self._deliver(exchange, answer, body)
                return
            while self._is_full():
                await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
            self._spawn(self._work(exchange, body), share)
            handed_on = True
        finally:
            if not handed_on:
                share.give_back()

    def _answer_hot(self, exchange: SocketExchange, body: Body) -> HotAnswer:
        """Answer on the event loop if possible; the shortcut is not tried twice."""
        tried, self._tried = self._tried, None
        if tried is None or tried[0] != body.text:
            return self._dispatcher.answer_hot(body, exchange)
        return tried[1] or self._dispatcher.answer_hot(body, exchange, by_methods=True)

    async def _charge(self, head: RequestHead, body: Body) -> bytes | None:
        """Charge the client; return the error answer if it is beyond its limit. Its socket stays open."""
        refuse = self._dispatcher.refuse
        try:
            wait = await self._answering.charge(self._endpoint, head, body)
        except Overloaded:
            return refuse(body, server_busy(), OVERLOADED)
        return refuse(body, rate_limit_exceeded(), LIMITED) if wait else None

    async def _work(self, exchange: SocketExchange, body: Body) -> None:
        answer: bytes | None
        try:
            answer = await self._answering.answer_message(self._dispatcher, body, exchange)
        except Overloaded:
            answer = self._dispatcher.refuse(body, server_busy(), OVERLOADED)
        except TimeoutError:
            answer = await give_up(self._dispatcher, body)
        await self._deliver(exchange, answer, body)

    async def _deliver(
        self, exchange: SocketExchange, answer: bytes | None, body: bytes | Body = b""
    ) -> None:
        """Send the answer, then activate the subscriptions made in it.

        A long answer is counted until it is read. One that exceeds the memory limit is refused, along with its
        subscriptions.
        """
        if answer is None or len(answer) <= SMALL:
            await self._push(exchange, answer)
            return
        share = MemoryShare(self._memory, lambda: exchange.client)
        try:
            share.grow(len(answer))
        except Overloaded:
            refusal = self._dispatcher.refuse(body, server_busy(), OVERLOADED)
            await self._push(SocketExchange(self._hub, self._socket), refusal)
            return
        try:
            size = len(answer)
            await self._push(exchange, answer)
            del answer
            async with asyncio.timeout(self._limits.stall * (_PATIENCE + size // PART)):
                await self._socket.flushed()
        except TimeoutError:
            self._socket.lose()
            self._abandon()
        finally:
            share.give_back()

    async def _push(self, exchange: SocketExchange, answer: bytes | None) -> None:
        if answer is not None:
            self._socket.push(answer)
            if answer.startswith(self._parse_error):
                await self._socket.drained()
                await self._socket.close(INVALID_TEXT, "parse error")
        exchange.confirm()

    def _spawn(self, work: Coroutine[Any, Any, None], share: MemoryShare) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: share.give_back())  # whether or not it ever ran

    def _abandon(self) -> None:
        """Cut off the socket, because its peer does not even read the close frame.

        That frame waits behind the unread data, and so would the server's shutdown. If the server does not
        expose its transport, the application ends instead.
        """
        transport = transport_of(self._send)
        if transport is not None:
            transport.abort()
        else:
            assert self._main is not None, "the socket was opened by `run`"
            self._abandoned = True
            self._main.cancel()


def _body_of(message: Message) -> Body:
    text: str | None = message.get("text")
    return Body(message.get("bytes", b"") if text is None else text.encode())
