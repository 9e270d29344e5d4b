"""From a body to its answer: a plain function from bytes to bytes, for every transport.

`answer_hot` tries to answer on the event loop without waiting, `answer` runs in a worker thread. The limits of a body
and of a batch are here; HTTP and WebSocket are not.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal

from jsonrpc import errors
from jsonrpc.dispatch.batch import Batch, joined
from jsonrpc.dispatch.calls import (
    LATE,
    REFUSED,
    STOP,
    Announcer,
    CallExecutor,
    CallObserver,
    FailureListener,
    Outage,
)
from jsonrpc.dispatch.dialects import GETH, Dialect
from jsonrpc.dispatch.envelope import NULL, Body, RpcCall, Said, valid_id
from jsonrpc.dispatch.inflight import Inflight
from jsonrpc.dispatch.registry import MethodRegistry
from jsonrpc.dispatch.workers import Gone, WaitingClient
from jsonrpc.errors import JsonRpcError
from jsonrpc.limits.interpreter import Interpreter, LoopTurn
from primitives.json_limits import may_hold_more


class Miss(Enum):
    """The type of `MISS`: the answer cannot be given without waiting."""

    MISS = "miss"


MISS: Final = Miss.MISS

HotAnswer = bytes | None | Literal[Miss.MISS]
"""An answer, None for no answer, or `MISS`."""

ShortcutAnswer = tuple[bytes, str | dict[str, int] | None]
"""The answer to a body, and the name of its method; for a batch, the numbers of calls by name. If the name is None,
there is no answer, because it would take too long on the event loop."""

Shortcut = Callable[[bytes, int, int], ShortcutAnswer | None]
"""Answers a body like the methods whose names it returns, if it can, without counting or announcing the calls. Its
arguments include the limits of a batch, in calls and in bytes of results; the dispatcher handles what exceeds them."""

BY_SHORTCUT: Final = "calls"
"""Name under which calls answered by the thread shortcut appear among the calls in flight."""

SMALL_BODY: Final = 1024
"""Bytes of a body that is read on the event loop even if the time of the turn is used up: reading it takes hardly
longer than receiving it, and simple calls must not wait for a thread behind the expensive ones."""


@dataclass(frozen=True, slots=True)
class DispatchLimits:
    """The limits of one body.

    `batch` calls; `response` bytes of results in a batch; `seconds` for a call or a batch;
    `hot_body` bytes, `hot_values` values and `hot_batch` calls up to which the event loop answers: it needs up to
    two microseconds to read a value or to find that it is invalid.
    """

    batch: int = 1000
    response: int = 25_000_000
    seconds: float = 30.0
    hot_body: int = 65_536
    hot_values: int = 2048
    hot_batch: int = 128


_log: Final = logging.getLogger("jsonrpc")


class _TooLong(Exception):
    """A batch takes too long on the event loop."""


class Dispatcher:
    """Answers the bodies of one interface. It has no state of calls and may run in any thread.

    A caller of several methods for one body passes a `Body`, which is read only once.
    """

    def __init__(
        self,
        registry: MethodRegistry,
        dialect: Dialect = GETH,
        limits: DispatchLimits = DispatchLimits(),
        *,
        would_block: tuple[type[Exception], ...] = (),
        one_request: Callable[[], AbstractContextManager[object]] = nullcontext,
        observer: CallObserver | None = None,
        announcer: Announcer | None = None,
        on_failure: FailureListener | None = None,
        inflight: Inflight | None = None,
        outage: Outage = lambda _error: "",
        clock: Callable[[], float] = time.monotonic,
        turn: LoopTurn | None = None,
        interpreter: Interpreter | None = None,
        shortcut: Shortcut | None = None,
        thread_shortcut: Shortcut | None = None,
    ) -> None:
        """Assemble an interface.

        Args:
            registry: its methods.
            dialect: its protocol messages.
            limits: the limits of one body.
            would_block: exceptions that a hot handler raises when it would have to wait.
            one_request: context around the calls of a batch that are tried on the event loop, in which
                they share the limits of one request.
            observer: receives every executed call.
            announcer: receives the name of each called method.
            on_failure: receives the error of each call that failed.
            inflight: registers calls in worker threads while they run.
            outage: returns why the database or a server is unavailable, if that made a method fail.
            clock: seconds, monotonic.
            turn: the time of the event loop's turn, if it is shared with others.
            interpreter: the use of the interpreter by threads, if it is shared with others.
            shortcut: answers the bodies it can before they are read here.
            thread_shortcut: the same in worker threads.
        """
        self.registry = registry
        self.dialect = dialect
        self.limits = limits
        self._would_block: tuple[type[Exception], ...] = (*would_block, _TooLong)
        self._one_request = one_request
        self._clock = clock
        self._turn = turn or LoopTurn()
        self._reading = threading.Lock()
        self._outage = outage
        self._inflight = inflight
        self._shortcut = shortcut
        self._thread_shortcut = thread_shortcut
        self._small = min(SMALL_BODY, limits.hot_body)
        self._executor = CallExecutor(
            registry,
            dialect,
            clock=clock,
            observer=observer,
            announcer=announcer,
            on_failure=on_failure,
            inflight=inflight,
            outage=outage,
            interpreter=interpreter or Interpreter(),
        )

    def answer_hot(
        self, body: bytes | Body, connection: object = None, *, by_methods: bool = False
    ) -> HotAnswer:
        """Answer on the event loop, or return `MISS`; `by_methods` skips the shortcut, which was tried before.

        Nothing is executed unless every method in the body is hot. If a later call of a batch would block,
        the earlier ones have been executed and will be again, so hot methods must be safe to repeat.
        If the time of the loop's turn is used up, only small single calls are answered.
        """
        request_body = body if isinstance(body, Body) else Body(body)
        if len(request_body.text) > self._small and self._is_for_a_thread(request_body.text):
            return MISS
        response = None if by_methods else self.answer_by_shortcut(request_body.text)
        if response is not None:
            return response
        request = request_body.says(self.dialect.read, self.limits.batch)
        if isinstance(request, JsonRpcError):
            return self._executor.refuse(NULL, request)
        if isinstance(request, list):
            return self._hot_batch(request, connection)
        return self._hot_call(request, connection)

    def record_calls(self, names: str | dict[str, int], seconds: float) -> None:
        """Report calls that were answered elsewhere, like the shortcut's: one by name, or several with numbers."""
        self._executor.record_calls(names, seconds)

    def answer_by_shortcut(self, text: bytes) -> bytes | Literal[Miss.MISS] | None:
        """Return the shortcut's answer to a body, on the event loop; None if the methods have to answer it."""
        return self._ask(self._shortcut, text)

    def _ask(self, shortcut: Shortcut | None, text: bytes) -> bytes | Literal[Miss.MISS] | None:
        if shortcut is None:
            return None
        started = self._clock()
        try:
            response = shortcut(text, self.limits.batch, self.limits.response)
        except STOP:
            raise
        except BaseException as error:
            if not self._outage(error):  # the method fails for the same reason, and logs it
                _log.exception("the shortcut failed")
            return None
        if response is None:
            return None
        answer, names = response
        if names is None:
            return MISS
        self._executor.record_calls(names, self._clock() - started)
        return answer

    def answer(self, body: bytes | Body, connection: object = None) -> bytes | None:
        """Answer in a worker thread; return None if there is no answer. Never raises.

        Unspecified: after a client has disconnected, none of its calls are executed. geth also ends a batch then,
        between two calls; it starts a single call as soon as it arrives.
        """
        try:
            return self._answer(body, connection)
        except Gone:
            self._executor.abandon()
            return None

    def _answer(self, body: bytes | Body, connection: object) -> bytes | None:
        call_waits = self._waiting(connection)
        if not call_waits.is_over():
            with self._running():
                response = self._ask(self._thread_shortcut, _text(body))
            if isinstance(response, bytes):
                return response
        # A thread that reads does not release the interpreter: several threads would not be faster, but
        # the event loop would have to wait for each of them in turn.
        with self._reading if len(_text(body)) > self._small else nullcontext():
            call_waits.is_over()
            request = self._read(body)
        if self._has_untimed(request):
            call_waits.lift()
        if isinstance(request, JsonRpcError):
            return self._executor.refuse(NULL, request)
        if isinstance(request, list):
            return self._batch(request, connection, call_waits.is_over)
        try:
            method = self._executor.find(request)
        except JsonRpcError as error:
            return self._executor.reject(request, error)
        answer = self._executor.run(method, request, connection)
        if answer is not None and call_waits.is_late():
            return self._executor.reject(request, errors.request_timed_out(), LATE)
        return answer

    def is_long(self, body: bytes | Body) -> bool:
        """Return whether reading a body would block the event loop for too long."""
        text, limits = _text(body), self.limits
        return len(text) > limits.hot_body or may_hold_more(text, limits.hot_values)

    def gathered_as(self, body: bytes | Body) -> str | None:
        """Return the method of a body whose calls are best executed together with others of it; else None.

        All calls of a batch have to be of this method. A body that is too long for the event loop is not read here.
        """
        text = _text(body)
        if len(text) > self._small and self._is_for_a_thread(text):
            return None
        request = self._read(body)
        if isinstance(request, JsonRpcError):
            return None
        calls = _calls_of(request)
        if not 0 < len(calls) <= self.limits.batch:
            return None
        method = self.registry.methods.get(calls[0].method)
        if method is None or method.vectorized is None:
            return None
        for call in calls:
            gathers = method.gathers(bytes(call.params)) if method.gathers else not method.hot
            if call.method != method.name or not gathers:
                return None
        return method.name

    def answer_together(self, bodies: Sequence[bytes | Body]) -> list[bytes | None]:
        """Answer bodies that are `gathered_as` one method, in a worker thread. Never raises.

        All calls are executed together, as in a batch, but each body has its own answer. Together they may be as
        long as their size limits together.
        """
        call_waits = self._waiting(None)
        requests = [
            request for request in map(self._read, bodies) if not isinstance(request, JsonRpcError)
        ]
        batch = Batch(
            self._executor,
            [call for request in requests for call in _calls_of(request)],
            None,
            free_bytes=self.limits.response * len(requests),
            expired=call_waits.is_over,
        )
        answers = iter(batch.run_each())
        return [
            joined([next(answers) for _ in request]) if isinstance(request, list) else next(answers)
            for request in requests
        ]

    def count(self, body: bytes | Body) -> int:
        """Return the number of calls in a body, as charged by a rate limit.

        A batch that is too long and an invalid body count as one.
        """
        if not _text(body).lstrip().startswith(b"["):
            return 1
        request = self._read(body)
        if not isinstance(request, list) or len(request) > self.limits.batch:
            return 1
        return max(1, len(request))

    def refuse(self, body: bytes | Body, error: JsonRpcError, why: str = REFUSED) -> bytes:
        """Return one error object for a whole body that is not executed; the observer gets the reason.

        It has the id of a single call; it has none for a batch, or for a body too long to be read for it.
        """
        identifier = None
        if not self.is_long(body):
            request = self._read(body)
            identifier = self.dialect.identifier(request) if isinstance(request, RpcCall) else None
        return self._executor.refuse(identifier or NULL, error, why)

    def give_up(self, body: bytes | Body) -> bytes | None:
        """Return the answer to a body that was not executed in time: each call timed out."""
        request = self._read(body)
        if isinstance(request, JsonRpcError):
            return self._executor.refuse(NULL, request)
        if isinstance(request, list):
            return self._batch(request, None, lambda: True)
        return self._executor.reject(request, errors.request_timed_out(), LATE)

    def is_untimed(self, body: Body) -> bool:
        """Return whether a body was read and has a call of a method without a time limit."""
        parsed = body.read
        return parsed is not None and self._has_untimed(parsed)

    def _has_untimed(self, request: Said) -> bool:
        if isinstance(request, JsonRpcError):
            return False
        methods = self.registry.methods
        names = {call.method for call in (request if isinstance(request, list) else [request])}
        return any(name in methods and methods[name].untimed for name in names)

    def _read(self, body: bytes | Body) -> Said:
        request_body = body if isinstance(body, Body) else Body(body)
        return request_body.says(self.dialect.read, self.limits.batch)

    def _running(self) -> AbstractContextManager[None]:
        """Return a context that registers a body as running while the thread shortcut tries it."""
        if self._inflight is None or self._thread_shortcut is None:
            return nullcontext()
        return self._inflight.running(BY_SHORTCUT)

    def _is_for_a_thread(self, body: bytes) -> bool:
        """Return whether a body that is not small should not even be read on the event loop now."""
        return self.is_long(body) or self._turn.is_spent()

    def _hot_call(self, call: RpcCall, connection: object) -> HotAnswer:
        try:
            method = self._executor.find(call)
        except JsonRpcError as error:
            return self._executor.reject(call, error)
        if not method.hot:
            return MISS
        try:
            return self._executor.run_hot(method, call, connection, self._would_block)
        except self._would_block:
            return MISS

    def _hot_batch(self, calls: list[RpcCall], connection: object) -> HotAnswer:
        refused = self._unfit(calls)
        if refused is not None:
            return refused
        if len(calls) > self.limits.hot_batch or self._turn.is_spent():
            return MISS
        methods = self.registry.methods
        for name in {call.method for call in calls}:
            method = methods.get(name)
            if method is not None and not method.hot:
                return MISS
        try:
            with self._one_request():
                return self._run(calls, connection, self._check_turn, self._would_block)
        except self._would_block:
            return MISS

    def _batch(
        self, calls: list[RpcCall], connection: object, expired: Callable[[], bool]
    ) -> bytes | None:
        refused = self._unfit(calls)
        if refused is not None:
            return refused
        return self._run(calls, connection, expired, ())

    def _run(
        self,
        calls: list[RpcCall],
        connection: object,
        expired: Callable[[], bool],
        passing: tuple[type[Exception], ...],
    ) -> bytes | None:
        batch = Batch(
            self._executor,
            calls,
            connection,
            free_bytes=self.limits.response,
            expired=expired,
            passing=passing,
        )
        return batch.run()

    def _unfit(self, calls: list[RpcCall]) -> bytes | None:
        """Return the error for a batch that is empty or too long, else None."""
        if not calls:
            return self._executor.refuse(NULL, errors.invalid_request("empty batch"))
        if len(calls) <= self.limits.batch:
            return None
        of_calls = (valid_id(call) for call in calls if call.jsonrpc == "2.0" and call.method)
        identifier = next(filter(None, of_calls), NULL)
        error = errors.invalid_request("batch too large")
        return b"[%b]" % self._executor.refuse(identifier, error)

    def _check_turn(self) -> bool:
        if self._turn.is_spent():
            raise _TooLong
        return False

    def _waiting(self, connection: object) -> WaitingClient:
        return WaitingClient(connection, self._clock() + self.limits.seconds, self._clock)


def _text(body: bytes | Body) -> bytes:
    return body.text if isinstance(body, Body) else body


def _calls_of(request: RpcCall | list[RpcCall]) -> list[RpcCall]:
    return request if isinstance(request, list) else [request]
