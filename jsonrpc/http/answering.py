"""How a body over HTTP is answered that may have to wait: on the event loop, in a thread, or gathered with others."""

import asyncio
import logging
from functools import partial
from typing import Final

from jsonrpc.dispatch.dispatcher import MISS, Dispatcher
from jsonrpc.dispatch.envelope import Body
from jsonrpc.dispatch.gate import HttpConnection, Reply, RequestHead
from jsonrpc.dispatch.gathering import GRACE_SECONDS, Gatherers
from jsonrpc.dispatch.workers import TimeLimit, Workers
from jsonrpc.errors import Overloaded, handler_crashed
from jsonrpc.http.replies import Endpoint

_log: Final = logging.getLogger("jsonrpc")

_CLOSE: Final = ((b"connection", b"close"),)


class Answering:
    """Answers bodies, for the direct door and the raw one.

    Args:
        workers: the threads for calls that may wait.
        gatherers: those of the process.
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
    ) -> Reply:
        """Return the reply to a body; whatever fails is a reply too.

        Args:
            endpoint: Whose interface is asked.
            head: Of the request.
            body: Its body.
            connection: Whose it is.
            missed: Whether it is known that the event loop cannot answer it.
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
            _log.exception("the door itself failed")
            return endpoint.reply(head, dispatcher.refuse(b"", handler_crashed()))

    async def _answer_in_thread(
        self, endpoint: Endpoint, head: RequestHead, body: Body, connection: HttpConnection
    ) -> Reply:
        """Answer, and compress, away from the event loop."""
        dispatcher = endpoint.dispatcher
        method = dispatcher.gathered_as(body)
        if method is not None:
            return endpoint.reply(head, await self._gatherers.of(dispatcher, method).answer(body))

        def job() -> Reply:
            return endpoint.reply(head, dispatcher.answer(body, connection))

        return await self._workers.run(time_limit(dispatcher, body), job)


def time_limit(dispatcher: Dispatcher, body: Body) -> TimeLimit:
    """Return how long a worker's answer to a body is waited for."""
    seconds = dispatcher.limits.seconds + GRACE_SECONDS
    return TimeLimit(seconds, partial(dispatcher.is_untimed, body))


async def give_up(dispatcher: Dispatcher, body: Body) -> bytes | None:
    """The answer to a body whose work has not come back in time. A long body is read in a thread.

    Not in one of the workers: they are what it waited for.
    """
    if dispatcher.is_long(body):
        return await asyncio.to_thread(dispatcher.give_up, body)
    return dispatcher.give_up(body)


async def charge(endpoint: Endpoint, workers: Workers, head: RequestHead, body: Body) -> float:
    """Charge the client for a body: 0, or the seconds to wait. A long body is counted in a thread.

    Raises:
        Overloaded: no thread is free for that.
    """
    dispatcher = endpoint.dispatcher
    if dispatcher.is_long(body):
        calls = await workers.run(None, dispatcher.count, body)
    else:
        calls = dispatcher.count(body)
    wait = endpoint.charge_now(head, calls)
    return await endpoint.charge(head, calls) if wait is None else wait


def closing(reply: Reply) -> Reply:
    """Return a reply after which nothing can follow on its connection: the rest of a body is not read, say."""
    return reply._replace(headers=reply.headers + _CLOSE)
