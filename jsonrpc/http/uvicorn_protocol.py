"""uvicorn's HTTP protocol for untrusted clients: limited heads, limited waits, and upgrades only to WebSocket.

Anything that is not a plain request is handled here, before an application sees it. This module depends on uvicorn
0.54's `HttpToolsProtocol`, and on httptools treating a message whose head requests an upgrade as one without a body;
check both when they are upgraded.
"""

import asyncio
from collections.abc import Container
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

import httptools
from typing_extensions import override
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from jsonrpc.http import plain_heads
from jsonrpc.http.delivery import MinimumRate, WriteWatch
from jsonrpc.http.plain_heads import HeadRefused, opens_websocket, without_upgrade
from jsonrpc.limits.connections import Connections

LINGER_SECONDS: Final = 0.5
"""Seconds that a refused client may continue to send. An immediate close would hide the reply behind a reset."""
LINGER_BYTES: Final = 262_144
"""Bytes that are received and dropped in that time."""

_FREE_OVERHEAD: Final = 65_536
"""Bytes of a body's transfer coding (chunk sizes, extensions, trailers) in addition to those of its content."""

_SLICE: Final = 4_096
"""Bytes that are parsed in one step, because all requests in one step are in memory simultaneously."""

_INVALID: Final = "Invalid HTTP request received."


@dataclass(frozen=True, slots=True)
class ReadTimeouts:
    """Limits of a connection outside of requests.

    `head` bytes and `head_seconds` for a request's head, from its first byte on; `minimum_rate`: how fast a peer must
    read queued output.
    """

    head: int = 65_536
    head_seconds: float = 10.0
    minimum_rate: MinimumRate = field(default_factory=MinimumRate)


class _Responses:
    """The transport for responses; the protocol decides how to close it."""

    def __init__(self, protocol: "GuardedProtocol") -> None:
        self._protocol = protocol
        self.is_closing = protocol.transport.is_closing
        self.abort = protocol.transport.abort
        self.get_extra_info = protocol.transport.get_extra_info

    def write(self, data: bytes) -> None:
        """Write, unless the peer has left, which uvicorn reports only to its newest request."""
        if not self.is_closing():
            self._protocol.transport.write(data)

    def close(self) -> None:
        """End the connection after this response."""
        self._protocol.end()


class _Flow(FlowControl):
    """Keeps reading paused while received bytes wait to be parsed, whichever code resumes it."""

    waiting: bytes | memoryview = b""
    """Unparsed bytes: requests after those that are not answered yet."""

    @override
    def resume_reading(self) -> None:
        if not self.waiting:
            super().resume_reading()


class GuardedProtocol(HttpToolsProtocol):
    """uvicorn's protocol with limits. A subclass provides the limits and the WebSocket paths."""

    patience = ReadTimeouts()
    held: Connections | None = None
    """Counts the connections of the process, if they are limited."""
    websocket_paths: Container[str] | None = None
    """Paths that accept an upgrade to a WebSocket; None for all paths."""

    flow: _Flow

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._answered: RequestResponseCycle | None = None
        """The request that is being answered, or the last one answered; `cycle` is the last one read."""
        self._reading = False
        """Whether a request has started and not ended, so that the next bytes belong to it."""
        self._in_body = False
        """Whether that request's head has ended."""
        self._begun = False
        self._ended = False
        """Whether a request has started (`_begun`) or ended in the bytes that are being read."""
        self._head_size = 0
        """Bytes of an incomplete head."""
        self._fed = 0
        """The same, including the bytes that are being read."""
        self._head_shares_bytes = False
        """Whether a head began in bytes of which an unknown part belongs to it."""
        self._overhead = 0
        self._keep_alive = True
        self._head_timer: asyncio.TimerHandle | None = None
        self._linger_timer: asyncio.TimerHandle | None = None
        self._dropped = 0

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = _Flow(transport)
        self._responses = _Responses(self)
        self._write_watch = WriteWatch(transport, self.patience.minimum_rate)
        if self.held is not None and not self.held.enter(
            self, self.client[0] if self.client else ""
        ):
            transport.write(self._reply(HTTPStatus.SERVICE_UNAVAILABLE, "too many connections"))
            transport.close()
            return
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.flow.waiting = b""
        self.pipeline.clear()
        if self._answered is not None:
            self._answered.disconnected = True
            self._answered.message_event.set()
        self._unset_keepalive_if_required()
        self._stop_timers()
        if self.held is not None:
            self.held.leave(self)

    def is_idle(self) -> bool:
        """Return whether the connection waits for a request, or for the rest of its head."""
        cycle: RequestResponseCycle | None = self.cycle  # None until the first one
        return (
            not self._in_body
            and (cycle is None or cycle.response_complete)
            and not self.transport.get_write_buffer_size()
        )

    def make_room(self) -> None:
        """Close in favour of another connection."""
        self.transport.abort()

    @override
    def data_received(self, data: bytes) -> None:
        if self._linger_timer is not None:
            self._drop(data)
            return
        if self.flow.waiting:
            self.flow.waiting = bytes(self.flow.waiting) + data
        else:
            self._read(memoryview(data))

    def _read(self, data: memoryview) -> None:
        """Parse bytes, in slices, until there is a request that cannot be answered yet.

        Otherwise a client's whole pipeline would be in memory as requests, thousands in one piece.
        """
        while data and not self.pipeline and self._is_open():
            self._take(data[:_SLICE])
            data = data[_SLICE:]
        if data and self._is_open():
            self.flow.waiting = data
            self.flow.pause_reading()

    def _is_open(self) -> bool:
        """Return whether received bytes still belong to this protocol and can be answered."""
        return (
            self._linger_timer is None
            and not self.transport.is_closing()
            and self.transport.get_protocol() is self
        )

    def _take(self, data: memoryview) -> None:
        """Parse a slice."""
        self._unset_keepalive_if_required()
        self._begun = self._ended = False
        self._fed = self._head_size + len(data)
        if self._in_body:
            self._overhead += len(data)
        try:
            self._feed(data)
        except HeadRefused as refused:
            self._refuse(refused.status, refused.text)
            return
        except httptools.HttpParserError as error:
            cause = error.__context__
            if isinstance(cause, HeadRefused):
                self._refuse(cause.status, cause.text)
            else:
                self._refuse(HTTPStatus.BAD_REQUEST, _INVALID)
            return
        if self._is_open():
            self._check_sizes(len(data))

    def _feed(self, data: memoryview) -> None:
        """Parse bytes; a request with an unsupported upgrade is parsed again without that header.

        RFC 9110 7.8: a server may ignore `Upgrade`, and then the request is an ordinary one.
        """
        rest = data
        while (end := self._end_of_upgrade(rest)) is not None:
            method, version = self.scope["method"], self.scope["http_version"]
            if method == "CONNECT":
                self._refuse(HTTPStatus.METHOD_NOT_ALLOWED, "CONNECT is for proxies")
                return
            head = version, self.url, self.headers
            cycle: RequestResponseCycle | None = self.cycle
            # While an earlier request is being answered, a WebSocket could not be opened in order.
            free = cycle is None or cycle.response_complete
            is_upgrade = free and self._should_upgrade()
            if is_upgrade and opens_websocket(method, *head, self.websocket_paths):
                plain_heads.check(*head, self.patience.head)
                self._open_websocket()
                return
            self.parser = httptools.HttpRequestParser(self)
            self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
            self.parser.feed_data(without_upgrade(method.encode(), *head))
            rest = rest[end:]

    def _open_websocket(self) -> None:
        """Pass the connection on to the WebSocket protocol."""
        self._stop_timers()
        self.handle_websocket_upgrade()
        opened: Any = self.transport.get_protocol()
        if self.held is not None:
            self.held.replace(self, opened)

    def _end_of_upgrade(self, data: memoryview) -> int | None:
        """Parse bytes; return the end of a head that requests an upgrade, or None without one."""
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as pause:
            end: int = pause.args[0]
            return end
        return None

    def _check_sizes(self, size: int) -> None:
        """Check the parser's state: refuse a head that is too long, or a body that is mostly coding."""
        if self._in_body:
            if self._overhead > _FREE_OVERHEAD:
                self._refuse(HTTPStatus.BAD_REQUEST, "too much around too little in a chunked body")
            return
        if not self._reading and (self._begun or self._ended):
            return
        # If a request has ended in these bytes, it is unknown which of them belong to the next head.
        if self._ended:
            self._head_shares_bytes = True
        else:
            self._head_size += size
        if self._head_size > self.patience.head:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "request head too large")
        elif self._head_timer is None:
            self._reading = True  # so far there may be only line ends before a request
            self._head_timer = self.loop.call_later(self.patience.head_seconds, self._head_too_slow)

    @override
    def on_message_begin(self) -> None:
        self._reading = self._begun = True
        self._in_body = False
        super().on_message_begin()

    @override
    def on_headers_complete(self) -> None:
        if self.parser.should_upgrade():
            self.scope["method"] = self.parser.get_method().decode("ascii")
            self.scope["http_version"] = self.parser.get_http_version()
            return
        # Only a head that arrived in more bytes than the limit can be too long.
        suspect = self._head_shares_bytes or self._fed > self.patience.head
        maximum = self.patience.head if suspect else None
        plain_heads.check(self.parser.get_http_version(), self.url, self.headers, maximum)
        self._in_body = True
        self._head_shares_bytes = False
        self._head_size = self._overhead = 0
        self._stop_head_timer()
        super().on_headers_complete()
        # Trailers do not change a request that is being answered (RFC 9110 6.5.1).
        self.headers = []
        # A request may be answered before its body is complete, but then the connection must be closed.
        self._keep_alive, self.cycle.keep_alive = self.cycle.keep_alive, False
        self.cycle.transport = self._responses  # type: ignore[assignment]

    @override
    def on_body(self, body: bytes) -> None:
        self._overhead -= 2 * len(body)
        super().on_body(body)

    @override
    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return
        self._reading = self._in_body = False
        self._ended = True
        if not self.cycle.response_started:
            self.cycle.keep_alive = self._keep_alive
        super().on_message_complete()

    @override
    def on_response_complete(self) -> None:
        if self._linger_timer is None:
            super().on_response_complete()
            if self.flow.waiting and not self.pipeline:
                received, self.flow.waiting = memoryview(self.flow.waiting), b""
                self.flow.resume_reading()
                self._read(received)
        else:
            self.server_state.total_requests += 1

    @override
    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._answered = cycle
        super()._start_asgi_task(cycle, app)

    @override
    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_watch.begin()

    @override
    def resume_writing(self) -> None:
        super().resume_writing()
        self._write_watch.stop()

    @override
    def shutdown(self) -> None:
        self._keep_alive = False
        if not self._reading:
            self.flow.waiting = b""  # the last request that was read gets the last answer
        super().shutdown()

    def end(self) -> None:
        """Close; if a body is still being received, let its sender read the response first."""
        if self._reading and not self.transport.is_closing():
            self._linger()
        else:
            self.transport.close()

    def _refuse(self, status: HTTPStatus, text: str) -> None:
        """Reply without an application, and end the connection."""
        self._stop_timers()
        self._unset_keepalive_if_required()
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
            # The refused request may be a later one, whose refusal would be taken for this one's answer.
            if cycle.response_started or not self._in_body or self.pipeline:
                self.transport.close()
                return
        self.transport.write(self._reply(status, text))
        self._linger()

    def _reply(self, status: HTTPStatus, text: str) -> bytes:
        """Return a complete response that closes the connection."""
        content = [STATUS_LINE[status]]
        for name, value in self.server_state.default_headers:
            content += (name, b": ", value, b"\r\n")
        content += (
            b"content-type: text/plain; charset=utf-8\r\n",
            b"content-length: %d\r\n" % len(text),
            b"connection: close\r\n\r\n",
            text.encode("ascii"),
        )
        return b"".join(content)

    def _linger(self) -> None:
        """Close the sending side, and close completely after the peer had time to read the reply."""
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._unset_keepalive_if_required()
        self.flow.waiting = b""
        self.flow.resume_reading()
        self._reading = True
        self._linger_timer = self.loop.call_later(LINGER_SECONDS, self.transport.close)

    def _drop(self, data: bytes) -> None:
        self._dropped += len(data)
        if self._dropped > LINGER_BYTES:
            self.flow.pause_reading()

    def _head_too_slow(self) -> None:
        self._head_timer = None
        if self.transport.is_closing() or self._linger_timer is not None:
            return
        cycle: RequestResponseCycle | None = self.cycle
        if self.flow.read_paused:  # the delay is not the client's fault
            seconds = self.patience.head_seconds
            self._head_timer = self.loop.call_later(seconds, self._head_too_slow)
        elif cycle is not None and not cycle.response_complete:
            # An earlier request is still being answered; the connection ends after that answer.
            cycle.keep_alive = False
        else:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, "request head did not arrive in time")

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _stop_timers(self) -> None:
        self._stop_head_timer()
        self._write_watch.stop()
        if self._linger_timer is not None:
            self._linger_timer.cancel()
