"""From a body to its answer: a plain function from bytes to bytes, for every transport.

`answer_hot` tries to answer on the event loop without waiting. `work` returns the work for a worker thread: the
call in the body, if the event loop has read it, or the whole body. HTTP and WebSocket are elsewhere.
"""

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from enum import Enum
from functools import partial
from typing import Final, Literal

from jsonrpc import errors
from jsonrpc.dispatch.batch import BatchExecutor
from jsonrpc.dispatch.calls import (
    LATE,
    REFUSED,
    Announcer,
    CallExecutor,
    CallObserver,
    DispatchLimits,
    FailureListener,
    MethodCall,
    Outage,
    Shortcut,
)
from jsonrpc.dispatch.dialects import GETH, Dialect
from jsonrpc.dispatch.envelope import NULL, RpcCall
from jsonrpc.dispatch.inflight import Inflight
from jsonrpc.dispatch.registry import MethodRegistry
from jsonrpc.dispatch.workers import ClientGone
from jsonrpc.errors import JsonRpcError
from jsonrpc.limits.interpreter import Interpreter, LoopTurn
from primitives.json_limits import may_hold_more


class Miss(Enum):
    """The type of `MISS`: the answer cannot be given without waiting."""

    MISS = "miss"


MISS: Final = Miss.MISS

HotAnswer = bytes | None | Literal[Miss.MISS]
"""An answer, None for no answer, or `MISS`."""

SMALL_BODY: Final = 1024
"""Bytes of a body that is read on the event loop even if the time of the turn is used up: reading it takes hardly
longer than receiving it, and simple calls must not wait for a thread behind the expensive ones. While a call waits for
a thread, the arguments that were read on the event loop are kept only for bodies of this size."""

BodyContent = RpcCall | list[RpcCall] | JsonRpcError
"""The content of a body: one call, the calls of a batch, or the error if it is neither."""


_DEFAULT_LIMITS: Final = DispatchLimits()


class _TooLong(Exception):
    """A batch takes too long on the event loop."""


class Body:
    """A body that is read once, however often its content is needed.

    A transport needs it for the charge, for the decision whether to answer immediately or together with others, and
    for the answer. It belongs to one interface. If several threads need it simultaneously, each of them may
    read it, which does no harm.
    """

    __slots__ = ("call", "content", "text")

    def __init__(self, text: bytes) -> None:
        self.text: Final = text
        self.content: BodyContent | None = None
        """None until it is read."""
        self.call: MethodCall | None = None
        """Its only call, if the event loop has found the method and leaves the call to a worker thread."""


class Dispatcher:
    """Answers the bodies of one interface. It has no state of calls and may run in any thread.

    A caller of several methods for one body passes a `Body`, which is read only once.
    """

    def __init__(
        self,
        registry: MethodRegistry,
        dialect: Dialect = GETH,
        limits: DispatchLimits = _DEFAULT_LIMITS,
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
        self._turn = turn or LoopTurn()
        self._reading = threading.Lock()
        self._shortcut = shortcut
        self._small = min(SMALL_BODY, limits.hot_body)
        self._executor = CallExecutor(
            registry,
            dialect,
            limits,
            clock=clock,
            observer=observer,
            announcer=announcer,
            on_failure=on_failure,
            inflight=inflight,
            outage=outage,
            interpreter=interpreter or Interpreter(),
            thread_shortcut=thread_shortcut,
        )
        self.batches: Final = BatchExecutor(self._executor)

    def answer_hot(
        self, body: bytes | Body, connection: object = None, *, by_methods: bool = False
    ) -> HotAnswer:
        """Answer on the event loop, or return `MISS`; `by_methods` skips the shortcut, which was tried before.

        Nothing is executed unless every method in the body is hot. If a later call of a batch would block,
        the earlier ones have been executed and will be again, so hot methods must be safe to repeat and must not
        change their arguments. If the time of the loop's turn is used up, only small single calls are answered.
        """
        request_body = body if isinstance(body, Body) else Body(body)
        if len(request_body.text) > self._small and self._is_for_a_thread(request_body.text):
            return MISS
        response = None if by_methods else self.answer_by_shortcut(request_body.text)
        if response is not None:
            return response
        request = self._read(request_body)
        if isinstance(request, JsonRpcError):
            return self._executor.refuse(NULL, request)
        if isinstance(request, list):
            return self._hot_batch(request, connection)
        return self._hot_call(request_body, request, connection)

    def record_calls(self, names: str | dict[str, int], seconds: float) -> None:
        """Report calls that were answered elsewhere, like the shortcut's: one by name, or several with numbers."""
        self._executor.record_calls(names, seconds)

    def answer_by_shortcut(self, text: bytes) -> bytes | Literal[Miss.MISS] | None:
        """Return the shortcut's answer to a body, on the event loop; None if the methods have to answer it."""
        if self._shortcut is None:
            return None
        response = self._executor.by_shortcut(self._shortcut, text)
        if response is None:
            return None
        answer, names = response
        return MISS if names is None else answer

    def work(self, body: Body, connection: object = None) -> Callable[[], bytes | None]:
        """Return the function that answers a body in a worker thread; see `answer`."""
        if body.call is not None:
            return partial(self._executor.finish, body.call, body.text, connection)
        return partial(self.answer, body, connection)

    def answer(self, body: bytes | Body, connection: object = None) -> bytes | None:
        """Answer in a worker thread; return None if there is no answer. Never raises.

        Unspecified: after a client has disconnected, none of its calls are executed. geth also ends a batch then,
        between two calls; it starts a single call as soon as it arrives.
        """
        try:
            return self._answer(body if isinstance(body, Body) else Body(body), connection)
        except ClientGone:
            self._executor.abandon()
            return None

    def _answer(self, body: Body, connection: object) -> bytes | None:
        client = self._executor.wait_for(connection)
        answer = self._executor.by_thread_shortcut(body.text, client)
        if answer is not None:
            return answer
        # A thread that reads does not release the interpreter: several threads would not be faster, but
        # the event loop would have to wait for each of them in turn.
        with self._reading if len(body.text) > self._small else nullcontext():
            client.is_over()
            request = self._read(body)
        if isinstance(request, JsonRpcError):
            return self._executor.refuse(NULL, request)
        if isinstance(request, list):
            if self._has_untimed(request):
                client.lift()
            refused = self.batches.refusal(request)
            return refused or self.batches.run(request, connection, client.is_over)
        try:
            method = self._executor.find(request)
        except JsonRpcError as error:
            return self._executor.reject(request, error)
        return self._executor.run_in_time(MethodCall(method, request), connection, client)

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
        calls = request if isinstance(request, list) else [request]
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
            refused = self.batches.refusal(request)
            return refused or self.batches.run(request, None, lambda: True)
        return self._executor.reject(request, errors.request_timed_out(), LATE)

    def is_untimed(self, body: Body) -> bool:
        """Return whether a body was read and has a call of a method without a time limit."""
        request = body.content
        if request is None or isinstance(request, JsonRpcError):
            return False
        return self._has_untimed(request if isinstance(request, list) else [request])

    def _has_untimed(self, calls: list[RpcCall]) -> bool:
        methods = self.registry.methods
        names = {call.method for call in calls}
        return any(name in methods and methods[name].untimed for name in names)

    def _read(self, body: bytes | Body) -> BodyContent:
        """Return the content of a body; for a batch with more calls than the limit only a few more."""
        body = body if isinstance(body, Body) else Body(body)
        if body.content is None:
            try:
                body.content = self.dialect.read(body.text, self.limits.batch)
            except JsonRpcError as error:
                body.content = error.with_traceback(None)  # it would keep its frames alive
        return body.content

    def _is_for_a_thread(self, body: bytes) -> bool:
        """Return whether a body that is not small should not even be read on the event loop now."""
        return self.is_long(body) or self._turn.is_spent()

    def _hot_call(self, body: Body, request: RpcCall, connection: object) -> HotAnswer:
        """Try a call on the event loop. If it would have to wait, a thread continues from the parts that were read."""
        try:
            method = self._executor.find(request)
        except JsonRpcError as error:
            return self._executor.reject(request, error)
        call = MethodCall(method, request)
        if method.hot:
            try:
                return self._executor.execute(call, connection, self._would_block)
            except self._would_block:
                if len(body.text) > self._small:
                    call.arguments = None
        body.call = call
        return MISS

    def _hot_batch(self, calls: list[RpcCall], connection: object) -> HotAnswer:
        refused = self.batches.refusal(calls)
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
                return self.batches.run(calls, connection, self._check_turn, self._would_block)
        except self._would_block:
            return MISS

    def _check_turn(self) -> bool:
        if self._turn.is_spent():
            raise _TooLong
        return False


def _text(body: bytes | Body) -> bytes:
    return body.text if isinstance(body, Body) else body
