"""Answer HTTP bodies that may have to wait: on the event loop, in a thread, or gathered with other calls."""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

from jsonrpc.dispatch.dispatcher import MISS, Dispatcher
from jsonrpc.dispatch.envelope import Body
from jsonrpc.dispatch.gate import HttpConnection, HttpReply, RequestHead
from jsonrpc.dispatch.gathering import GRACE_SECONDS, Gatherers
from jsonrpc.dispatch.workers import TimeLimit, Workers
from jsonrpc.errors import Overloaded, handler_crashed
from jsonrpc.http.replies import Endpoint

_log: Final = logging.getLogger("jsonrpc")

_CLOSE: Final = ((b"connection", b"close"),)


class Answering:
    """Answers bodies for the fast path (`direct`) and the ASGI application (`asgi`).

    Args:
        workers: The threads for calls that may wait.
        gatherers: The gatherers of the process.
    """

    def __init__(self, workers: Workers, gatherers: Gatherers) -> None:
        self._workers = workers
        self._gatherers = gatherers

    async def answer(
        self,
        endpoint: Endpoint,
        head: RequestHead,
        body: Body,
        connection: HttpConnection,
        *,
        missed: bool,
    ) -> HttpReply:
        """Return the reply to a body; failures are replies too.

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
                wait = await charge(endpoint, self._workers, head, body)
                if wait:
                    return endpoint.limited(head, body, wait)
            answer = MISS if missed else dispatcher.answer_hot(body, connection)
            if answer is not MISS and not endpoint.compresses_long(head, answer):
                return endpoint.reply(head, answer)
            return await self._answer_in_thread(endpoint, head, body, connection)
        except Overloaded:
            return endpoint.busy(head, body)
        except TimeoutError:
            answer = None if connection.is_gone() else await give_up(dispatcher, body)
            return endpoint.reply(head, answer)
        except Exception:
            _log.exception("answering a request failed")
            return endpoint.reply(head, dispatcher.refuse(b"", handler_crashed()))

    async def _answer_in_thread(
        self, endpoint: Endpoint, head: RequestHead, body: Body, connection: HttpConnection
    ) -> HttpReply:
        """Answer, and compress, in a worker thread."""
        dispatcher = endpoint.dispatcher
        method = dispatcher.gathered_as(body)
        if method is not None:
            return endpoint.reply(head, await self._gatherers.of(dispatcher, method).answer(body))

        def job() -> HttpReply:
            return endpoint.reply(head, dispatcher.answer(body, connection))

        return await self._workers.run(time_limit(dispatcher, body), job)


def time_limit(dispatcher: Dispatcher, body: Body) -> TimeLimit:
    """Return how long to wait for a worker's answer to a body."""
    seconds = dispatcher.limits.seconds + GRACE_SECONDS
    return TimeLimit(seconds, partial(dispatcher.is_untimed, body))


async def give_up(dispatcher: Dispatcher, body: Body) -> bytes | None:
    """Return the answer to a body that was not answered in time. A long body is read in a thread.

    The thread is not one of the workers, because they may be the reason for the delay.
    """
    if dispatcher.is_long(body):
        return await asyncio.to_thread(dispatcher.give_up, body)
    return dispatcher.give_up(body)


async def charge(endpoint: Endpoint, workers: Workers, head: RequestHead, body: Body) -> float:
    """Charge the client for a body; return 0, or the seconds to wait. A long body is counted in a thread.

    Raises:
        Overloaded: no thread is free for counting.
    """
    dispatcher = endpoint.dispatcher
    if dispatcher.is_long(body):
        calls = await workers.run(None, dispatcher.count, body)
    else:
        calls = dispatcher.count(body)
    wait = endpoint.charge_now(head, calls)
    return await endpoint.charge(head, calls) if wait is None else wait


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
