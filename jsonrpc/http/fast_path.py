"""The direct door: requests as clients write them are answered where uvicorn receives the bytes.

A request that came whole, in one piece, on an idle connection needs no ASGI: not where its answer is in memory, and
not where it has to wait for a thread. Its head is read strictly, and once for all requests that share it
(`plain_heads`); whatever is unusual in any way goes on to uvicorn, unread and unchanged, and from there to the raw
door. Both answer the same bytes. Knows uvicorn 0.54's `HttpToolsProtocol`; look at it again when that moves.
"""

import asyncio
import logging
from collections.abc import Collection, Container
from functools import partial
from typing import Any, ClassVar, Final, Protocol

from typing_extensions import override
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from jsonrpc.dispatch.calls import STOP
from jsonrpc.dispatch.dispatcher import MISS
from jsonrpc.dispatch.envelope import Body
from jsonrpc.dispatch.gate import HttpConnection, Reply
from jsonrpc.errors import Overloaded
from jsonrpc.http.answering import Answering, closing
from jsonrpc.http.asgi_rpc import READ_BEFORE
from jsonrpc.http.current import Current
from jsonrpc.http.delivery import PART, STALL_SECONDS
from jsonrpc.http.peer import has_hung_up
from jsonrpc.http.plain_heads import Known, RequestHeads, ending, head_of
from jsonrpc.http.pooled import Pooled
from jsonrpc.http.replies import WholeRequests
from jsonrpc.http.uvicorn_protocol import GuardedProtocol
from jsonrpc.limits.interpreter import Interpreter
from jsonrpc.limits.memory import SMALL, RequestMemory, Share
from jsonrpc.limits.turn import LoopTurn

MAX_HEAD: Final = 2048
"""Bytes of a head that is read here."""

_log: Final = logging.getLogger("jsonrpc")

_END: Final = b"\r\n\r\n"


class Pages(Protocol):
    """Pages for GET that can be shown at once."""

    def get(self, head: bytes) -> Reply | None:
        """Return what a request gets, by its head without the empty line; None for any that is not plain."""


class DirectProtocol(GuardedProtocol):
    """uvicorn's protocol with the direct door before it. `heads` is set by a subclass."""

    heads: RequestHeads
    whole: WholeRequests | None = None
    """Is asked first, for requests whose heads were read here before."""
    pooled: Pooled | None = None
    """Waits for what its other threads find; None: they are not asked. What they do not find is for `answering`."""
    answering: Answering | None = None
    """Gives the answers that have to wait; None: such requests go on to uvicorn."""
    pages: Pages | None = None
    """What is answered to GET here, if anything."""
    memory: RequestMemory | None = None
    """Counts long answers that are not read yet, if that is limited."""
    stall_seconds = STALL_SECONDS
    """So long a client may take for each part of a long answer that had to wait."""
    turn: LoopTurn | None = None
    """Hears of each connection."""
    interpreter: Interpreter | None = None
    """Hears of each answer that was given at once."""
    current: Current | None = None
    """Is asked before requests where other processes may have told of something; None: there are none."""
    untold_paths: Container[bytes] = frozenset()
    """Where requests come that ask for nothing of what they tell."""
    _all: ClassVar[Collection[object] | None] = None
    """The server's own set of its connections, HTTP and WebSocket."""

    @classmethod
    def open_connections(cls) -> int | None:
        """Return how many HTTP connections this process has; None where none ever came to this door.

        May be called from any thread.
        """
        if cls._all is None:
            return None
        return sum(isinstance(one, DirectProtocol) for one in tuple(cls._all))

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        DirectProtocol._all = self.connections
        self._http: HttpConnection | None = None
        """The connection as of the last request."""
        self._known: Known | None = None
        """The head of that request."""
        self._before: Body | None = None
        """The body of the request that is handed on, as long as that takes."""
        self._is_awaited = False
        """Whether an answer is on its way that has to wait; what comes behind its request waits for it."""
        self._answered_at = 0.0
        """When an answer was given here, by the loop's clock."""
        self._number = 0 if self.pooled is None else self.pooled.number()
        """By which native code tells it from other connections."""
        self._unread: Share | None = None
        """What a long answer holds until it is read."""

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self.turn is not None:
            self.turn.accepted()

    @override
    def data_received(self, data: bytes) -> None:
        if (current := self.current) is None or current.is_current() or not self._waits(data):
            self._decide(data)
        else:
            self._is_awaited = True
            self.flow.pause_reading()
            current.when_current(partial(self._go_on_at_head, data))

    def _waits(self, data: bytes) -> bool:
        """Return whether a request begins that others may have told something for.

        What a page shows at once, liveness for one, waits for nobody, and neither do interfaces of other things.
        """
        if not self._is_at_rest():
            return False
        if data.startswith(b"GET ") and self.pages is not None:
            return self.pages.get(data.removesuffix(_END)) is None
        path, _, _ = data.removeprefix(b"POST ").partition(b" ")
        return path not in self.untold_paths

    def _go_on_at_head(self, data: bytes, _is_current: bool) -> None:  # noqa: FBT001  # as it is called
        """Take up what has waited until this process was where another one is."""
        self._is_awaited = False
        if self.transport.is_closing():
            return
        ends = not self._keep_alive
        try:
            self._decide(data + self._no_longer_waiting())
            if self._is_at_rest():
                self._go_on_after_answer()
            elif ends and not self._is_awaited:
                super().shutdown()  # again: there was no request yet that it could be told to be the last
        except STOP:
            raise
        except BaseException:
            # As in `_see_to_answer`.
            _log.exception("the direct door failed")
            self.transport.abort()

    def _decide(self, data: bytes) -> None:
        """Have a request answered whole, or take in what came."""
        if self.whole is None or not self._is_served(data, self.whole):
            self._receive(data)

    def _receive(self, data: bytes) -> None:
        """Take in what was not answered whole."""
        if self._is_awaited:
            self._let_wait(data)
            return
        if data.startswith(b"POST ") and self._is_at_rest():
            end = data.find(_END, 0, MAX_HEAD)
            known = self.heads.read(data[:end]) if end > 0 else None
            if known is not None and len(data) == end + 4 + known.length:
                self._respond(data, known, Body(data[end + 4 :]))
                return
        elif data.startswith(b"GET ") and self._show(data):
            return
        self._pass_on(data)

    def _respond(self, data: bytes, known: Known, body: Body) -> None:
        """Answer a whole request, now or later; one that is long uvicorn takes in as its client sends it."""
        if self._answer(known, body):
            return
        if self.answering is None or len(body.text) > SMALL:
            self._pass_on(data, body)
        else:
            self._answer_later(self.answering, known, body)

    def _answer_later(self, answering: Answering, known: Known, body: Body) -> None:
        """Begin an answer that has to wait."""
        self._is_awaited = True
        task = self.loop.create_task(self._see_to_answer(answering, known, body))
        self.tasks.add(task)  # the server ends after them
        task.add_done_callback(self.tasks.discard)

    async def _see_to_answer(self, answering: Answering, known: Known, body: Body) -> None:
        try:
            await self._answer_in_time(answering, known, body)
        except STOP:
            raise
        except BaseException:
            # A native extension that panics raises no `Exception`. Nothing can follow on a connection that waits for
            # an answer that does not come.
            _log.exception("the direct door failed")
            self.transport.abort()

    async def _answer_in_time(self, answering: Answering, known: Known, body: Body) -> None:
        """Wait for an answer and write it, unless the client has left; take up what came behind its request."""
        connection = self._know(known)
        endpoint = known.endpoint
        reply = await answering.answer(endpoint, known.head, body, connection, missed=True)
        if not self.transport.is_closing() and not self._has_room(len(reply.body), connection):
            reply, self._keep_alive = endpoint.busy(known.head, b""), False
        if not self._keep_alive:
            reply = closing(reply)
        endpoint.replies.count(known.head.method, reply.status)
        await self._write_in_parts(reply)
        self._is_awaited = False
        self._go_on_after_answer()

    def _go_on_after_answer(self) -> None:
        """Close after the last answer, or take up what came behind its request."""
        if self.transport.is_closing():
            return
        if not self._keep_alive:
            self.end()
        elif self.flow.waiting:
            self._take_up()

    async def _write_in_parts(self, reply: Reply) -> None:
        """Write a reply; who takes a part of a long one for too long is cut off."""
        held, self._unread = self._unread, None
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
            if held is not None:
                held.give_back()
        self._wrote()

    def _let_wait(self, data: bytes) -> None:
        """Take nothing more from the client until what came is taken up."""
        self.flow.waiting = bytes(self.flow.waiting) + data
        self.flow.pause_reading()

    def _take_up(self) -> None:
        """Take up what waited for an answer before it."""
        if not self.transport.is_closing():
            self.data_received(self._no_longer_waiting())

    def _no_longer_waiting(self) -> bytes:
        waiting, self.flow.waiting = bytes(self.flow.waiting), b""
        self.flow.resume_reading()
        return waiting

    def _pass_on(self, data: bytes, body: Body | None = None) -> None:
        """Leave bytes to uvicorn; with them goes the body of a whole request that was read here."""
        self._before = body
        super().data_received(data)
        self._before = None

    @override
    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._before is not None:
            self.scope["state"][READ_BEFORE] = self._before

    @override
    def resume_writing(self) -> None:
        super().resume_writing()
        self._was_read()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._was_read()

    @override
    def is_idle(self) -> bool:
        return not self._is_awaited and super().is_idle()

    @override
    def shutdown(self) -> None:
        if self._is_awaited:
            # The last request that was read is the last that is answered.
            self._keep_alive = False
            self.flow.waiting = b""
        else:
            super().shutdown()

    @override
    def timeout_keep_alive_handler(self) -> None:
        """Close what is at rest for too long; answers that were given here did not move this timer."""
        if self._is_awaited:
            self._wait_for_request(self.timeout_keep_alive)
            return
        left = self._answered_at + self.timeout_keep_alive - self.loop.time()
        if left > 0:
            self._wait_for_request(left)
        else:
            super().timeout_keep_alive_handler()

    def _is_served(self, data: bytes, whole: WholeRequests) -> bool:
        """Have a request answered without a look at it here; whether it was."""
        if not self._is_at_rest():
            return False
        try:
            response = whole.serve(data, self.server_state.default_headers, self._number)
        except STOP:
            raise
        except BaseException:
            # A native extension that panics raises no `Exception`.
            _log.exception("the direct door failed")
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
        """Take what other threads have come to for a request: its response, or nothing."""
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
            # As in `_see_to_answer`.
            _log.exception("the direct door failed")
            self.transport.abort()

    def _answer(self, known: Known, body: Body) -> bool:
        """Answer a body if that can be done at once; whether it was."""
        connection = self._know(known)
        endpoint = known.endpoint
        try:
            answer = endpoint.dispatcher.answer_hot(body, connection)
            if answer is MISS or endpoint.compresses_long(known.head, answer):
                return False
            if answer is None or endpoint.is_compressed(known.head, answer):
                reply = endpoint.reply(known.head, answer)
                start_of, content = head_of(reply, self.server_state.default_headers), reply.body
            else:
                start_of, content = known.start(self.server_state.default_headers), answer
        except Exception:
            # Who answers later meets it too, and has an answer even then.
            _log.exception("the direct door failed")
            return False
        if not self._has_room(len(content), connection):
            return False
        endpoint.replies.answered()
        self._write(b"".join((start_of, b"%d\r\n\r\n" % len(content), content)))
        return True

    def _show(self, data: bytes) -> bool:
        """Answer with a page; say whether that was possible at once."""
        whole = data.endswith(_END) and len(data) <= MAX_HEAD and data.count(_END) == 1
        if self.pages is None or not whole or not self._is_at_rest():
            return False
        reply = self.pages.get(data[: -len(_END)])
        if reply is None:
            return False
        start_of = head_of(reply, self.server_state.default_headers)
        self._write(b"%b%d\r\n\r\n%b" % (start_of, len(reply.body), reply.body))
        return True

    def _has_room(self, size: int, connection: HttpConnection) -> bool:
        """Count an answer if it is long; False where it does not fit."""
        if size <= SMALL or self.memory is None:
            return True
        share = Share(self.memory, lambda: connection.client)
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

    def _know(self, known: Known) -> HttpConnection:
        """Return the connection with a request's own head: a browser sends requests of several pages on one.

        Heads are remembered for all connections alike. None of them has an X-Forwarded-For header.
        """
        if self._http is not None and self._known is known:
            return self._http
        peer = self.client[0] if self.client else ""
        head = known.head._replace(peer=peer)
        is_gone = partial(has_hung_up, self.transport)
        self._known = known
        self._http = HttpConnection(known.endpoint.gate, head, is_gone)
        return self._http

    def _is_at_rest(self) -> bool:
        """Return whether nothing is being read or answered, or waits to be written."""
        cycle: RequestResponseCycle | None = self.cycle  # None until the first one
        return (
            not self._reading
            and not self._is_awaited
            and (cycle is None or cycle.response_complete)
            and not self.flow.write_paused
            and not self.transport.is_closing()
        )

    def _write(self, response: bytes) -> None:
        """Write a response, and wait for the next request: nothing lingers, and nothing waits behind it."""
        self.transport.write(response)
        if not self.flow.write_paused:
            self._was_read()
        self._wrote()
        if (interpreter := self.interpreter) is not None and interpreter.needed_by:
            interpreter.give_way(self.loop)

    def _wrote(self) -> None:
        self.server_state.total_requests += 1
        self._answered_at = self.loop.time()
        if self.timeout_keep_alive_task is None and not self.transport.is_closing():
            self._wait_for_request(self.timeout_keep_alive)

    def _wait_for_request(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(
            seconds, self.timeout_keep_alive_handler
        )
