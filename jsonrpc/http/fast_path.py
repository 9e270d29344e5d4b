"""The fast path: common requests are answered where uvicorn receives the bytes.

A request that arrives on an idle connection, in one piece or as its head and its body, bypasses ASGI, whether its answer
is in memory or has to wait for a thread. Its head is parsed strictly, and once for all requests that share it
(`plain_heads`). Any unusual request is passed on to uvicorn unchanged, and from there to the ASGI application
(`asgi_rpc`). Both give the same bytes as answers. This module depends on uvicorn 0.54's `HttpToolsProtocol`; check it
when uvicorn is upgraded.
"""

import asyncio
import logging
from collections.abc import Collection, Container
from functools import partial
from typing import Any, ClassVar, Final, Protocol

from typing_extensions import override
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from jsonrpc.dispatch.calls import STOP
from jsonrpc.dispatch.dispatcher import MISS, Body
from jsonrpc.dispatch.gate import HttpConnection, HttpReply
from jsonrpc.errors import Overloaded
from jsonrpc.http.answering import Answering, Current, closing
from jsonrpc.http.asgi_rpc import READ_BEFORE
from jsonrpc.http.delivery import PART, STALL_SECONDS, has_hung_up
from jsonrpc.http.plain_heads import ParsedHead, RequestHeads, ending, head_of
from jsonrpc.http.pooled import PooledRequests
from jsonrpc.http.replies import WholeRequests
from jsonrpc.http.uvicorn_protocol import GuardedProtocol
from jsonrpc.limits.interpreter import Interpreter, LoopTurn
from jsonrpc.limits.memory import SMALL, MemoryShare, RequestMemory

MAX_HEAD: Final = 2048
"""Maximal bytes of a head on the fast path."""

BODY_SECONDS: Final = 0.05
"""Seconds that the fast path waits for a body after its head. Python's clients (http.client, and so requests and web3.py)
send them one after the other. uvicorn waits for a slower body, within the limits for unknown clients."""

_log: Final = logging.getLogger("jsonrpc")

_END: Final = b"\r\n\r\n"


class GetPages(Protocol):
    """Pages for GET that are available immediately."""

    def get(self, head: bytes) -> HttpReply | None:
        """Return the reply to a request by its head without the empty line; None for any unusual request."""


class DirectProtocol(GuardedProtocol):
    """uvicorn's protocol with the fast path in front of it. A subclass sets `heads`."""

    heads: RequestHeads
    whole: WholeRequests | None = None
    """Tried first, for requests whose heads were parsed here before."""
    pooled: PooledRequests | None = None
    """Waits for the results of other threads; None disables them. Requests they cannot answer go to `answering`."""
    answering: Answering | None = None
    """Answers requests that have to wait; None: such requests are passed on to uvicorn."""
    pages: GetPages | None = None
    """Pages for GET requests, if any."""
    memory: RequestMemory | None = None
    """Counts long answers that are not read yet, if they are limited."""
    stall_seconds = STALL_SECONDS
    """Seconds that a client may take for each part of a long answer that had to wait."""
    turn: LoopTurn | None = None
    """Is notified of each connection."""
    interpreter: Interpreter | None = None
    """Is notified of each immediate answer."""
    current: Current | None = None
    """Checked before requests if other processes may have announced events; None if there are none."""
    independent_paths: Container[bytes] = frozenset()
    """Paths whose requests do not depend on the events of other processes."""
    _all: ClassVar[Collection[object] | None] = None
    """The server's own set of its connections, HTTP and WebSocket."""

    @classmethod
    def open_connections(cls) -> int | None:
        """Return the number of HTTP connections of this process; None if this protocol has had none.

        Can be called from any thread.
        """
        if cls._all is None:
            return None
        return sum(isinstance(protocol, DirectProtocol) for protocol in tuple(cls._all))

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        DirectProtocol._all = self.connections
        self._http: HttpConnection | None = None
        """The connection with the head of the last request."""
        self._parsed_head: ParsedHead | None = None
        """The head of that request."""
        self._passed_body: Body | None = None
        """The body of the request that is passed on, while it is passed on."""
        self._is_awaited = False
        """Whether an answer is pending; later requests on the connection wait for it."""
        self._head_alone = b""
        """A complete head whose body has not arrived yet, for up to `BODY_SECONDS`."""
        self._body_timer: asyncio.TimerHandle | None = None
        self._answered_at = 0.0
        """Time of the last answer given here, by the loop's clock."""
        self._number = 0 if self.pooled is None else self.pooled.number()
        """The number by which native code identifies this connection."""
        self._unread: MemoryShare | None = None
        """The memory share of a long answer until it is read."""

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self.turn is not None:
            self.turn.accepted()

    @override
    def data_received(self, data: bytes) -> None:
        if self._head_alone:
            data = self._take_head() + data
        if (
            (current := self.current) is None
            or current.is_current()
            or not self._must_be_current(data)
        ):
            self._decide(data)
        else:
            self._is_awaited = True
            self.flow.pause_reading()
            current.when_current(partial(self._go_on_when_current, data))

    def _must_be_current(self, data: bytes) -> bool:
        """Return whether the data starts a request that depends on events announced by other processes.

        Pages that are available immediately, such as liveness, do not wait, and neither do unrelated interfaces.
        """
        if not self._is_idle():
            return False
        if data.startswith(b"GET ") and self.pages is not None:
            return self.pages.get(data.removesuffix(_END)) is None
        path, _, _ = data.removeprefix(b"POST ").partition(b" ")
        return path not in self.independent_paths

    def _go_on_when_current(self, data: bytes) -> None:
        """Process the data that waited until this process had caught up with another one."""
        self._is_awaited = False
        if self.transport.is_closing():
            return
        ends = not self._keep_alive
        try:
            self._decide(data + self._take_waiting())
            if self._is_idle():
                self._go_on_after_answer()
            elif ends and not self._is_awaited:
                self.shutdown()  # repeated, because before there was no request to mark as the last one
        except STOP:
            raise
        except BaseException:
            # As in `_run_answer`.
            _log.exception("the fast path failed")
            self.transport.abort()

    def _decide(self, data: bytes) -> None:
        """Have a request answered as a whole, or process the data here."""
        if self.whole is None or not self._is_served(data, self.whole):
            self._receive(data)

    def _receive(self, data: bytes) -> None:
        """Process data that was not answered as a whole."""
        if self._is_awaited:
            self._keep_for_later(data)
            return
        if data.startswith(b"POST ") and self._is_idle():
            end = data.find(_END, 0, MAX_HEAD)
            head = self.heads.read(data[:end]) if end > 0 else None
            if head is not None and len(data) == end + 4 + head.length:
                self._respond(data, head, Body(data[end + 4 :]))
                return
            if head is not None and len(data) == end + 4 and head.length <= SMALL:
                self._wait_for_body(data)
                return
        elif data.startswith(b"GET ") and self._answer_with_page(data):
            return
        self._pass_on(data)

    def _wait_for_body(self, head: bytes) -> None:
        self._head_alone = head
        self._body_timer = self.loop.call_later(BODY_SECONDS, self._pass_on_head)

    def _pass_on_head(self) -> None:
        """Have uvicorn wait for the rest of a request."""
        self._pass_on(self._take_head())

    def _take_head(self) -> bytes:
        """Stop waiting for a body; return the head."""
        if self._body_timer is not None:
            self._body_timer.cancel()
            self._body_timer = None
        head, self._head_alone = self._head_alone, b""
        return head

    def _respond(self, data: bytes, head: ParsedHead, body: Body) -> None:
        """Answer a complete request, now or later; a long body is passed on to uvicorn."""
        if self._answer(head, body):
            return
        if self.answering is None or len(body.text) > SMALL:
            self._pass_on(data, body)
        else:
            self._answer_later(self.answering, head, body)

    def _answer_later(self, answering: Answering, head: ParsedHead, body: Body) -> None:
        """Start an answer that has to wait."""
        self._is_awaited = True
        task = self.loop.create_task(self._run_answer(answering, head, body))
        self.tasks.add(task)  # the server waits for them before it ends
        task.add_done_callback(self.tasks.discard)

    async def _run_answer(self, answering: Answering, head: ParsedHead, body: Body) -> None:
        try:
            await self._answer_in_time(answering, head, body)
        except STOP:
            raise
        except BaseException:
            # A panic in a native extension is not an `Exception`. The connection is closed, because later requests
            # would wait for an answer that never arrives.
            _log.exception("the fast path failed")
            self.transport.abort()

    async def _answer_in_time(self, answering: Answering, head: ParsedHead, body: Body) -> None:
        """Wait for an answer and write it, unless the client has left; then continue with later requests."""
        connection = self._connection_for(head)
        endpoint = head.endpoint
        reply = await answering.answer_http(endpoint, head.head, body, connection, missed=True)
        if not self.transport.is_closing() and not self._has_room(len(reply.body), connection):
            reply, self._keep_alive = endpoint.busy(head.head, b""), False
        if not self._keep_alive:
            reply = closing(reply)
        endpoint.replies.count(head.head.method, reply.status)
        await self._write_in_parts(reply)
        self._is_awaited = False
        self._go_on_after_answer()

    def _go_on_after_answer(self) -> None:
        """Close after the last answer, or continue with the requests that have arrived since."""
        if self.transport.is_closing():
            return
        if not self._keep_alive:
            self.end()
        elif self.flow.waiting:
            self._go_on_with_waiting()

    async def _write_in_parts(self, reply: HttpReply) -> None:
        """Write a reply; cut off a client that takes too long for a part of it."""
        share, self._unread = self._unread, None
        start_of = head_of(reply, self.server_state.default_headers)
        part = b"%b%d\r\n\r\n%b" % (start_of, len(reply.body), reply.body[:PART])
        try:
            for place in range(PART, max(len(reply.body), 1) + PART, PART):
                if self.transport.is_closing():
                    return
                self.transport.write(part)
                part = reply.body[place : place + PART]
                if len(reply.body) > PART:
                    async with asyncio.timeout(self.stall_seconds):
                        await self.flow.drain()
        except TimeoutError:
            self.transport.abort()
        finally:
            if share is not None:
                share.give_back()
        self._note_response()

    def _keep_for_later(self, data: bytes) -> None:
        """Stop reading from the client until the received data is processed."""
        self.flow.waiting = bytes(self.flow.waiting) + data
        self.flow.pause_reading()

    def _go_on_with_waiting(self) -> None:
        """Process the data that waited for an earlier answer."""
        if not self.transport.is_closing():
            self.data_received(self._take_waiting())

    def _take_waiting(self) -> bytes:
        received, self.flow.waiting = bytes(self.flow.waiting), b""
        self.flow.resume_reading()
        return received

    def _pass_on(self, data: bytes, body: Body | None = None) -> None:
        """Pass bytes on to uvicorn, with the body of a complete request that was read here."""
        self._passed_body = body
        super().data_received(data)
        self._passed_body = None

    @override
    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._passed_body is not None:
            self.scope["state"][READ_BEFORE] = self._passed_body

    @override
    def resume_writing(self) -> None:
        super().resume_writing()
        self._was_read()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._take_head()
        self._was_read()

    @override
    def is_idle(self) -> bool:
        return not self._is_awaited and not self._head_alone and super().is_idle()

    @override
    def shutdown(self) -> None:
        if self._head_alone:
            self._pass_on_head()
        if self._is_awaited:
            # The last request that was read gets the last answer.
            self._keep_alive = False
            self.flow.waiting = b""
        else:
            super().shutdown()

    @override
    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection after the timeout. Answers given here do not restart uvicorn's timer."""
        if self._is_awaited or self._head_alone:
            self._wait_for_request(self.timeout_keep_alive)
            return
        left = self._answered_at + self.timeout_keep_alive - self.loop.time()
        if left > 0:
            self._wait_for_request(left)
        else:
            super().timeout_keep_alive_handler()

    def _is_served(self, data: bytes, requests: WholeRequests) -> bool:
        """Have a request answered as a whole, without parsing it here; return whether that was possible."""
        if not self._is_idle():
            return False
        try:
            response = requests.serve(data, self.server_state.default_headers, self._number)
        except STOP:
            raise
        except BaseException:
            # A panic in a native extension is not an `Exception`.
            _log.exception("the fast path failed")
            return False
        if response is None:
            return False
        if response:
            self._write(response)
        elif self.pooled is not None:
            self._is_awaited = True
            self.pooled.wait(self.loop, self._number, partial(self._finish, data))
        return True

    def _finish(self, data: bytes, response: bytes | None) -> None:
        """Handle the result of other threads for a request: its response, or None."""
        self._is_awaited = False
        try:
            if self.transport.is_closing():
                return
            if response is None:
                self._receive(data)
            else:
                self._write(response if self._keep_alive else ending(response))
            if not self._is_awaited:
                self._go_on_after_answer()
        except STOP:
            raise
        except BaseException:
            # As in `_run_answer`.
            _log.exception("the fast path failed")
            self.transport.abort()

    def _answer(self, head: ParsedHead, body: Body) -> bool:
        """Answer a body if that is possible immediately; return whether it was."""
        connection = self._connection_for(head)
        endpoint = head.endpoint
        try:
            answer = endpoint.dispatcher.answer_hot(body, connection)
            if answer is MISS or endpoint.compresses_long(head.head, answer):
                return False
            if answer is None or endpoint.is_compressed(head.head, answer):
                reply = endpoint.reply(head.head, answer)
                start_of, content = head_of(reply, self.server_state.default_headers), reply.body
            else:
                start_of, content = head.start(self.server_state.default_headers), answer
        except Exception:
            # The later answer meets the same error, and has a reply even then.
            _log.exception("the fast path failed")
            return False
        if not self._has_room(len(content), connection):
            return False
        endpoint.replies.answered()
        self._write(b"".join((start_of, b"%d\r\n\r\n" % len(content), content)))
        return True

    def _answer_with_page(self, data: bytes) -> bool:
        """Answer with a page; return whether that was possible immediately."""
        is_complete = data.endswith(_END) and len(data) <= MAX_HEAD and data.count(_END) == 1
        if self.pages is None or not is_complete or not self._is_idle():
            return False
        reply = self.pages.get(data[: -len(_END)])
        if reply is None:
            return False
        start_of = head_of(reply, self.server_state.default_headers)
        self._write(b"%b%d\r\n\r\n%b" % (start_of, len(reply.body), reply.body))
        return True

    def _has_room(self, size: int, connection: HttpConnection) -> bool:
        """Count an answer if it is long; return False if it exceeds the memory limit."""
        if size <= SMALL or self.memory is None:
            return True
        share = MemoryShare(self.memory, lambda: connection.client)
        try:
            share.grow(size)
        except Overloaded:
            return False
        self._unread = share
        return True

    def _was_read(self) -> None:
        if self._unread is not None:
            self._unread.give_back()
            self._unread = None

    def _connection_for(self, parsed: ParsedHead) -> HttpConnection:
        """Return the connection with a request's own head: a browser sends requests of several pages on one.

        Heads are cached for all connections. None of them has an X-Forwarded-For header.
        """
        if self._http is not None and self._parsed_head is parsed:
            return self._http
        peer = self.client[0] if self.client else ""
        head = parsed.head._replace(peer=peer)
        is_gone = partial(has_hung_up, self.transport)
        self._parsed_head = parsed
        self._http = HttpConnection(parsed.endpoint.gate, head, is_gone)
        return self._http

    def _is_idle(self) -> bool:
        """Return whether no request is being read or answered, and no output is queued."""
        cycle: RequestResponseCycle | None = self.cycle  # None until the first one
        return (
            not self._reading
            and not self._is_awaited
            and not self._head_alone
            and (cycle is None or cycle.response_complete)
            and not self.flow.write_paused
            and not self.transport.is_closing()
        )

    def _write(self, response: bytes) -> None:
        """Write a response, and wait for the next request: no body and no later request is pending."""
        self.transport.write(response)
        if not self.flow.write_paused:
            self._was_read()
        self._note_response()
        if (interpreter := self.interpreter) is not None and interpreter.needed_by:
            interpreter.give_way(self.loop)

    def _note_response(self) -> None:
        self.server_state.total_requests += 1
        self._answered_at = self.loop.time()
        if self.timeout_keep_alive_task is None and not self.transport.is_closing():
            self._wait_for_request(self.timeout_keep_alive)

    def _wait_for_request(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(
            seconds, self.timeout_keep_alive_handler
        )
