"""A bound on the requests that Django works on at once: each takes a thread for itself.

The threads live on, and with them their connections to the database. Left to itself, Django starts one for each
request; its connection, with the pages and statements that it keeps, then waits for Python's collector, and dozens
do at a time.

A body that comes slowly, and a page that is read slowly, hold up nobody: a request's turn begins when
its body is there, and ends when its page is made. What waits to be read is counted with the bodies of
other requests (`jsonrpc.limits.memory`). A download longer than `HELD` is made while it is read, in its turn.
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
from jsonrpc.http.delivery import STALL_SECONDS, Message, NotRead, Send, abandon, send_in_parts
from jsonrpc.http.peer import is_gone
from jsonrpc.limits.memory import RequestMemory, Share

DJANGO_THREADS: Final = 8
"""Requests that Django works on at once in one process."""
WAITING_PAGES: Final = 64
"""Requests that may wait for that."""
PATIENCE_SECONDS: Final = 10.0
"""So long a request waits for its turn."""
HELD: Final = 1024 * 1024
"""Bytes of a page that is made before it is read: any but downloads of tables, which staff alone may ask for."""

_BUSY: Final = "too many requests at once: try again in a moment"

P = ParamSpec("P")
T = TypeVar("T")


class ConcurrencyLimit:
    """An ASGI application in front of another one, of whose requests few run at once.

    Args:
        application: the other one; it reads the body first, as Django does.
        at_once: how many requests run.
        waiting: how many more may wait for their turn; others are told to come again.
        gate: has the headers of every answer.
        replies: counts the refusals.
        patience: seconds that a request waits for its turn.
        stall: seconds that a client may take for each part of a page.
        memory: counts what is held of pages; without, each has a place there.
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
        """Threads without a request, one in each pool. There are no more of them than ever worked at once."""
        self._most = at_once + waiting
        self._inside = 0
        """Requests that run or wait for their turn."""
        self._gate = gate
        self._replies = replies or Replies()
        self._patience = patience
        self._stall = stall
        self._memory = memory or RequestMemory()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if self._inside >= self._most:  # its body is not even read
            return await self._refuse(scope, send)
        share = Share(self._memory, lambda: self._gate.client(read_head(scope)))
        visit = _Visit(
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
        """Wait for a turn, and return its thread; None where it did not come."""
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
        # The one that worked last: its connection is warm, and the others' grow no further.
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
        """Send a page, or what is left of one."""
        for message in answer:
            await self._pass_on(message, send)

    async def _pass_on(self, message: Message, send: Send) -> None:
        """Send a message in parts.

        Raises:
            NotRead: the client does not read on.
        """
        await send_in_parts(message, send, self._stall)


class _Thread(Executor):
    """Where a request's work is done: in the thread of its turn."""

    def __init__(self) -> None:
        self.pool: ThreadPoolExecutor | None = None
        """The thread; None before the turn, when there is nothing to be done yet."""

    @override
    def submit(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        assert self.pool is not None, "work before the body was read"
        return self.pool.submit(work, *args, **kwargs)


class _Visit:
    """One request on its way through the application."""

    def __init__(
        self,
        receive: Receive,
        enter: Callable[[], Awaitable[ThreadPoolExecutor | None]],
        is_gone: Callable[[], bool],
        pass_on: Callable[[Message], Awaitable[None]],
        share: Share,
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
        """What is made of the page and not on its way yet."""

    async def receive(self) -> Message:
        """Hand on the body, its end when the request's turn has come and its client is still there.

        A client that leaves afterwards is not mentioned: Django would let go of a thread that works
        on, and wait for it on the event loop.
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
        """Keep a part of the answer; of a long one, send what there is.

        Raises:
            Overloaded: too much is held already, of this client's pages or of all.
        """
        self.held.append(message)
        self._size += len(message.get("body", b""))
        if self._size <= HELD:
            self._share.grow(self._size)
            return
        while self.held:
            await self._pass_on(self.held.pop(0))
