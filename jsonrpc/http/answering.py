"""Answers to bodies that may have to wait: on the event loop, in a worker thread, or together with other bodies.

Calls of some methods that arrive separately are executed together in one thread: a database transaction costs the same
for one submission as for fifty, and so does the switch to a thread and back. Calls that arrive while a group is executed
wait, and form the next group.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

from jsonrpc.dispatch.dispatcher import MISS, Body, Dispatcher
from jsonrpc.dispatch.envelope import RpcCall
from jsonrpc.dispatch.gate import HttpConnection, HttpReply, RequestHead
from jsonrpc.dispatch.workers import TimeLimit, Workers
from jsonrpc.errors import JsonRpcError, Overloaded, handler_crashed
from jsonrpc.http.replies import Endpoint

MAX_TOGETHER: Final = 256
"""Maximal number of bodies in one group."""

MAX_TOGETHER_BYTES: Final = 256 * 1024
"""Number of bytes of bodies after which a group takes no further ones: it has at least one.

About a thousand transfers: batches of them share a block and its commit, and a group still takes a small part of a call's
time limit. A single body may be larger (NODE_BODY_LIMIT)."""

LINGER_SECONDS: Final = 0.005
"""Maximal seconds to wait for further bodies after a group, because its clients may send the next ones."""

GRACE_SECONDS: Final = 1.0
"""Seconds by which a transport waits longer than the dispatcher's own limit, for answers that are ready."""

MAX_WAITING: Final = 8192
"""Maximal number of waiting bodies; more are refused as overload."""

_log: Final = logging.getLogger("jsonrpc")

_CLOSE: Final = ((b"connection", b"close"),)


class Answering:
    """Answers the bodies of all transports of a process. Belongs to one event loop.

    Calls from different transports are executed together. Calls of one method do not wait for those of another.

    Args:
        workers: The threads for calls that may wait.
    """

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._gatherers: dict[tuple[Dispatcher, str], Gatherer] = {}

    async def answer_http(
        self,
        endpoint: Endpoint,
        head: RequestHead,
        body: Body,
        connection: HttpConnection,
        *,
        missed: bool,
    ) -> HttpReply:
        """Return the reply to an HTTP body; failures are replies too.

        Args:
            endpoint: The interface.
            head: The request's head.
            body: The request's body.
            connection: The client's connection.
            missed: Whether it is known that the event loop cannot answer the body.
        """
        dispatcher = endpoint.dispatcher
        try:
            if endpoint.throttle is not None:
                wait = await self.charge(endpoint, head, body)
                if wait:
                    return endpoint.limited(head, body, wait)
            answer = MISS if missed else dispatcher.answer_hot(body, connection)
            if answer is not MISS and not endpoint.compresses_long(head, answer):
                return endpoint.reply(head, answer)
            return await self._reply_later(endpoint, head, body, connection)
        except Overloaded:
            return endpoint.busy(head, body)
        except TimeoutError:
            late = None if connection.is_gone() else await give_up(dispatcher, body)
            return endpoint.reply(head, late)
        except Exception:
            _log.exception("answering a request failed")
            return endpoint.reply(head, dispatcher.refuse(b"", handler_crashed()))

    async def _reply_later(
        self, endpoint: Endpoint, head: RequestHead, body: Body, connection: HttpConnection
    ) -> HttpReply:
        dispatcher = endpoint.dispatcher
        gatherer = self.gatherer(dispatcher, body)
        if gatherer is not None:
            return endpoint.reply(head, await gatherer.answer(body))
        job = partial(endpoint.reply_with, head, dispatcher.work(body, connection))
        return await self._workers.run(_time_limit(dispatcher, body), job)

    async def answer_message(
        self, dispatcher: Dispatcher, body: Body, connection: object
    ) -> bytes | None:
        """Return the answer to a WebSocket message that the event loop cannot answer.

        Methods whose calls are executed together do not know the connection.

        Raises:
            Overloaded: too many bodies wait already.
            TimeoutError: the answer did not arrive in time.
        """
        gatherer = self.gatherer(dispatcher, body)
        if gatherer is not None:
            return await gatherer.answer(body)
        job = dispatcher.work(body, connection)
        return await self._workers.run(_time_limit(dispatcher, body), job)

    def gatherer(self, dispatcher: Dispatcher, body: Body) -> "Gatherer | None":
        """Return the gatherer for a body; None if its calls are not executed together with others."""
        method = dispatcher.gathered_as(body)
        if method is None:
            return None
        gatherer = self._gatherers.get((dispatcher, method))
        if gatherer is None:
            seconds = dispatcher.limits.seconds + GRACE_SECONDS
            gatherer = Gatherer(dispatcher, self._workers, seconds)
            self._gatherers[dispatcher, method] = gatherer
        return gatherer

    async def charge(self, endpoint: Endpoint, head: RequestHead, body: Body) -> float:
        """Charge the client for a body; return 0, or the seconds to wait. A long body is counted in a thread.

        Raises:
            Overloaded: no thread is free for counting.
        """
        dispatcher = endpoint.dispatcher
        if dispatcher.is_long(body):
            calls = await self._workers.run(None, dispatcher.count, body)
        else:
            calls = dispatcher.count(body)
        wait = endpoint.charge_now(head, calls)
        return await endpoint.charge(head, calls) if wait is None else wait


async def give_up(dispatcher: Dispatcher, body: Body) -> bytes | None:
    """Return the answer to a body that was not answered in time. A long body is read in a thread.

    The thread is not one of the workers, because they may be the reason for the delay.
    """
    if dispatcher.is_long(body):
        return await asyncio.to_thread(dispatcher.give_up, body)
    return dispatcher.give_up(body)


def _time_limit(dispatcher: Dispatcher, body: Body) -> TimeLimit:
    """Return how long to wait for a worker's answer to a body."""
    seconds = dispatcher.limits.seconds + GRACE_SECONDS
    return TimeLimit(seconds, partial(dispatcher.is_untimed, body))


_Waiting = tuple[Body, "asyncio.Future[bytes | None]"]


class Gatherer:
    """Gathers bodies whose calls are of one vectorized method. Belongs to one event loop."""

    def __init__(self, dispatcher: Dispatcher, workers: Workers, seconds: float) -> None:
        self._dispatcher = dispatcher
        self._workers = workers
        self._seconds = seconds
        self._waiting: list[_Waiting] = []
        self._task: asyncio.Task[None] | None = None
        self._expected = 0
        """Number of waiting bodies after which lingering ends."""
        self._all_there: asyncio.Future[None] | None = None

    async def answer(self, body: Body) -> bytes | None:
        """Wait for the answer to a body that was read, and is `gathered_as` the method.

        Raises:
            Overloaded: too many bodies wait already, here or for a thread.
            TimeoutError: the group took too long; its execution continues.
        """
        if len(self._waiting) >= MAX_WAITING:
            raise Overloaded
        loop = asyncio.get_running_loop()
        future: asyncio.Future[bytes | None] = loop.create_future()
        self._waiting.append((body, future))
        if self._all_there is not None and len(self._waiting) >= self._expected:
            _wake(self._all_there)
        if self._task is None:
            self._task = loop.create_task(self._run())
        return await future

    async def _run(self) -> None:
        """Execute the waiting bodies, group by group, until none is left."""
        try:
            while self._waiting:
                group = self._waiting[: self._count()]
                del self._waiting[: len(group)]
                await self._execute(group)
                await self._linger(len(group))
        finally:
            self._task = None

    def _count(self) -> int:
        """Return how many of the waiting bodies form the next group."""
        size = 0
        for count, (body, _) in enumerate(self._waiting[:MAX_TOGETHER], 1):
            size += len(body.text)
            if size >= MAX_TOGETHER_BYTES:
                return count
        return min(len(self._waiting), MAX_TOGETHER)

    async def _linger(self, last: int) -> None:
        """Wait for as many bodies as were in the last group, if it had several."""
        if last == 1 or len(self._waiting) >= last:
            return
        loop = asyncio.get_running_loop()
        self._expected, self._all_there = last, loop.create_future()
        timer = loop.call_later(LINGER_SECONDS, _wake, self._all_there)
        try:
            await self._all_there
        finally:
            timer.cancel()
            self._all_there = None

    async def _execute(self, group: list[_Waiting]) -> None:
        """Execute a group in a thread, and give each body its answer, or the error that concerns all."""
        try:
            requests = [_requests_of(body) for body, _ in group]
            run = self._dispatcher.batches.run_together
            answers = await self._workers.run(self._seconds, run, requests)
        except Exception as error:  # raised to each waiting request
            for _, future in group:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), answer in zip(group, answers, strict=True):
            if not future.done():  # its client may have disconnected
                future.set_result(answer)


def _requests_of(body: Body) -> RpcCall | list[RpcCall]:
    """Return the call or the batch of a body that was read."""
    content = body.content
    assert content is not None, "`gathered_as` has read it"
    assert not isinstance(content, JsonRpcError), "it would not be gathered"
    return content


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def closing(reply: HttpReply) -> HttpReply:
    """Return a reply that closes its connection, for example because the rest of a body was not read."""
    return reply._replace(headers=reply.headers + _CLOSE)


class Current(Protocol):
    """Knows whether this process has caught up with the events other processes announced to clients.

    Its methods are called on the event loop.
    """

    def is_current(self) -> bool:
        """Return whether this process knows all events announced so far."""

    def when_current(self, then: Callable[[], None]) -> None:
        """Try to catch up with the announced events, then call `then`; never synchronously."""
