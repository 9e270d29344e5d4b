"""A limit on the requests that Django processes concurrently: each occupies a thread.

The threads are reused, and so are their database connections. By default Django starts a thread for each request,
whose connection, with its cached pages and statements, then waits for Python's garbage collector; dozens of them
accumulate.

Slow uploads and slow readers delay no other request: a request gets its turn when its body has arrived, and
gives it back when its page is rendered. Pages waiting to be read count together with the bodies of other
requests (`jsonrpc.limits.memory`). A download longer than `HELD` is produced while it is read, during its turn.
"""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial
from http import HTTPStatus
from typing import Final, ParamSpec, TypeVar

from asgiref.sync import ThreadSensitiveContext
from typing_extensions import override

from jsonrpc.dispatch.gate import Gate
from jsonrpc.dispatch.inflight import Replies
from jsonrpc.errors import Overloaded
from jsonrpc.http.asgi_rpc import Application, Receive, Scope, read_head
from jsonrpc.http.delivery import (
    STALL_SECONDS,
    Message,
    NotRead,
    Send,
    abandon,
    is_gone,
    send_in_parts,
)
from jsonrpc.limits.memory import MemoryShare, RequestMemory

WAITING_PAGES: Final = 64
"""Requests that may wait for a turn."""
PATIENCE_SECONDS: Final = 10.0
"""Seconds that a request waits for its turn."""
HELD: Final = 1024 * 1024
"""Bytes of a page that are produced before it is read: enough for every page but downloads of tables, which need staff."""

_BUSY: Final = "too many concurrent requests: try again in a moment"

P = ParamSpec("P")
T = TypeVar("T")


class ConcurrencyLimit:
    """An ASGI application that limits the concurrent requests of another one.

    Args:
        application: The other application; it reads the body first, as Django does.
        at_once: The number of requests that run concurrently.
        waiting: The number of further requests that may wait for a turn; others get status 503.
        gate: Provides the headers of every answer.
        replies: Counts the refusals.
        patience: Seconds that a request waits for its turn.
        stall: Seconds that a client may take for each part of a page.
        memory: Counts the memory held for pages; by default an account of its own.
    """

    def __init__(
        self,
        application: Application,
        *,
        at_once: int,
        waiting: int,
        gate: Gate,
        replies: Replies | None = None,
        patience: float = PATIENCE_SECONDS,
        stall: float = STALL_SECONDS,
        memory: RequestMemory | None = None,
    ) -> None:
        self._application = application
        self._turns = asyncio.Semaphore(at_once)
        self._idle: list[ThreadPoolExecutor] = []
        """Idle threads, one in each pool; never more than have run concurrently."""
        self._most = at_once + waiting
        self._inside = 0
        """Requests that run or wait for a turn."""
        self._gate = gate
        self._replies = replies or Replies()
        self._patience = patience
        self._stall = stall
        self._memory = memory or RequestMemory()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if self._inside >= self._most:  # refused without reading the body
            return await self._refuse(scope, send)
        share = MemoryShare(self._memory, lambda: self._gate.client(read_head(scope)))
        visit = _LimitedRequest(
            receive,
            self._enter,
            partial(is_gone, send),
            lambda message: self._pass_on(message, send),
            share,
        )
        try:
            try:
                async with ThreadSensitiveContext(executor=visit.thread):
                    await self._application(scope, visit.receive, visit.send)
            finally:
                if visit.thread.pool is not None:
                    self._leave(visit.thread.pool)
            if visit.refused:
                return await self._refuse(scope, send)
            return await self._deliver(visit.held, send)
        except NotRead:
            return await abandon(send)
        except Overloaded:
            return await self._refuse(scope, send)
        finally:
            share.give_back()

    async def _enter(self) -> ThreadPoolExecutor | None:
        """Wait for a turn and return its thread; None if no turn came in time."""
        if self._inside >= self._most:
            return None
        self._inside += 1
        try:
            async with asyncio.timeout(self._patience):
                await self._turns.acquire()
        except BaseException as error:
            self._inside -= 1
            if isinstance(error, TimeoutError):
                return None
            raise
        # The most recent thread: its connection is warm, and the other connections do not grow further.
        return self._idle.pop() if self._idle else ThreadPoolExecutor(1, thread_name_prefix="page")

    def _leave(self, thread: ThreadPoolExecutor) -> None:
        self._inside -= 1
        self._idle.append(thread)
        self._turns.release()

    async def _refuse(self, scope: Scope, send: Send) -> None:
        head = read_head(scope)
        headers = (b"retry-after", b"1"), (b"connection", b"close")
        reply = self._gate.refuse(HTTPStatus.SERVICE_UNAVAILABLE, _BUSY, head, *headers)
        self._replies.count(head.method, reply.status)
        length = (b"content-length", b"%d" % len(reply.body))
        start = {
            "type": "http.response.start",
            "status": reply.status,
            "headers": [*reply.headers, length],
        }
        await send(start)
        await send({"type": "http.response.body", "body": reply.body})

    async def _deliver(self, answer: list[Message], send: Send) -> None:
        """Send a page, or the remaining part of it."""
        for message in answer:
            await self._pass_on(message, send)

    async def _pass_on(self, message: Message, send: Send) -> None:
        """Send a message in parts.

        Raises:
            NotRead: The client has stopped reading.
        """
        await send_in_parts(message, send, self._stall)


class _Thread(Executor):
    """An executor that runs a request's work in the thread of its turn."""

    def __init__(self) -> None:
        self.pool: ThreadPoolExecutor | None = None
        """The thread; None before the turn, when there is no work yet."""

    @override
    def submit(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        assert self.pool is not None, "work before the body was read"
        return self.pool.submit(work, *args, **kwargs)


class _LimitedRequest:
    """One request on its way through the application."""

    def __init__(
        self,
        receive: Receive,
        enter: Callable[[], Awaitable[ThreadPoolExecutor | None]],
        is_gone: Callable[[], bool],
        pass_on: Callable[[Message], Awaitable[None]],
        share: MemoryShare,
    ) -> None:
        self._receive = receive
        self._enter = enter
        self._is_gone = is_gone
        self._pass_on = pass_on
        self._share = share
        self._whole = False
        self._size = 0
        self.thread = _Thread()
        self.refused = False
        self.held: list[Message] = []
        """Parts of the page that are rendered but not sent yet."""

    async def receive(self) -> Message:
        """Pass on the body; its end is passed on when the turn has come, if the client is still connected.

        A client that disconnects later is not reported: Django would abandon a thread that continues to
        work, and wait for it on the event loop.
        """
        if self._whole:
            await asyncio.get_running_loop().create_future()
        message = await self._receive()
        if message["type"] == "http.request" and not message.get("more_body"):
            self._whole = True
            self.thread.pool = await self._enter()
            self.refused = self.thread.pool is None
            if self.refused or self._is_gone():
                return {"type": "http.disconnect"}
        return message

    async def send(self, message: Message) -> None:
        """Keep a part of the answer; if the answer is long, send the parts kept so far.

        Raises:
            Overloaded: Too much memory is held already, by pages of this client or of all clients.
        """
        self.held.append(message)
        self._size += len(message.get("body", b""))
        if self._size <= HELD:
            self._share.grow(self._size)
            return
        while self.held:
            await self._pass_on(self.held.pop(0))
