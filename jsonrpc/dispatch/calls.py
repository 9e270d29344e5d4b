"""Execution of one call: find the method, bind arguments, run the handler, render the answer.

A call of a hot method is tried on the event loop. All others, and those that would have to wait, are executed in a
worker thread. `dispatcher` reads bodies, and `batch` executes several calls together.
"""

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Final, Protocol

import msgspec

from jsonrpc import errors
from jsonrpc.dispatch.caller import INTERNAL_CALLER, UNKNOWN_CALLER, Caller
from jsonrpc.dispatch.dialects import Dialect
from jsonrpc.dispatch.envelope import MAX_METHOD_LENGTH, NULL, RpcCall
from jsonrpc.dispatch.gate import HttpConnection
from jsonrpc.dispatch.inflight import Inflight
from jsonrpc.dispatch.registry import Method, MethodRegistry
from jsonrpc.dispatch.workers import ClientGone, WaitingClient
from jsonrpc.errors import JsonRpcError
from jsonrpc.limits.interpreter import Interpreter


class CallObserver(Protocol):
    """Receives executed calls."""

    def __call__(self, method: str, seconds: float, code: int = 0, count: int = 1, /) -> None:
        """Count calls of a method with the seconds that each took; `code` is that of the error, 0 for a result."""


Announcer = Callable[[str, int], None]
"""Receives the name of a method and a number of calls: before they are executed in a thread, or after they were
executed on the event loop. Unknown methods are included."""

FailureListener = Callable[[str, JsonRpcError], None]
"""Receives the name of a method and the error of a call, after the `Announcer` got the name."""

Outage = Callable[[BaseException], str]
"""Returns why the database or a server is unavailable, if that is the cause of an error, else an empty text."""

ShortcutAnswer = tuple[bytes, str | dict[str, int] | None]
"""The answer to a body, and the name of its method; for a batch, the numbers of calls by name. If the name is None,
there is no answer, because it would take too long on the event loop."""

Shortcut = Callable[[bytes, int, int], ShortcutAnswer | None]
"""Answers a body like the methods whose names it returns, if it can, without counting or announcing the calls. Its
arguments include the limits of a batch, in calls and in bytes of results; the dispatcher handles what exceeds them."""

BY_SHORTCUT: Final = "calls"
"""Name under which calls answered by the thread shortcut appear among the calls in flight."""

UNKNOWN: Final = "unknown"
"""The name under which the observer gets calls of an unknown method."""

REFUSED: Final = "refused"
"""The same for unreadable calls, and for those that are not allowed."""
LIMITED: Final = "limited"
"""The same for calls beyond the rate limit."""
OVERLOADED: Final = "overloaded"
"""The same for calls that found no place in the queue for threads."""
LATE: Final = "late"
"""The same for calls that were not executed, or not answered, in time."""
ABANDONED: Final = "abandoned"
"""The same for a body that was not executed completely because its client had disconnected."""

NOT_EXECUTED: Final = frozenset({UNKNOWN, REFUSED, LIMITED, OVERLOADED, LATE, ABANDONED})
"""All of these names; methods cannot have them."""

_log: Final = logging.getLogger("jsonrpc")
# A panic in a native extension is not an `Exception`, but it is treated as a crashed handler.
STOP: Final = (KeyboardInterrupt, SystemExit, GeneratorExit)
_encode: Final = msgspec.json.Encoder().encode


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


class MethodCall:
    """A call of a known method; `arguments` is None until they are bound."""

    __slots__ = ("arguments", "method", "request")

    def __init__(self, method: Method, request: RpcCall) -> None:
        self.method = method
        self.request = request
        self.arguments: Sequence[Any] | None = None


class CallExecutor:
    """Executes calls of one interface. It has no state of its own and may run in any thread."""

    def __init__(
        self,
        registry: MethodRegistry,
        dialect: Dialect,
        limits: DispatchLimits,
        *,
        clock: Callable[[], float],
        observer: CallObserver | None,
        announcer: Announcer | None,
        on_failure: FailureListener | None,
        inflight: Inflight | None,
        outage: Outage,
        interpreter: Interpreter,
        thread_shortcut: Shortcut | None,
    ) -> None:
        self.dialect = dialect
        self.limits = limits
        self.clock = clock
        self.observer = observer
        self._methods = registry.methods
        self._unavailable = registry.unavailable
        self._map_error = registry.errors
        self._announcer = announcer
        self._on_failure = on_failure
        self._inflight = inflight
        self._outage = outage
        self._interpreter = interpreter
        self._thread_shortcut = thread_shortcut

    def find(self, request: RpcCall) -> Method:
        """Return the called method.

        Raises:
            JsonRpcError: the request is not a call, or the method is unknown.
        """
        name = request.method
        if request.jsonrpc != "2.0" or not name:
            raise self.dialect.invalid_call(request)
        method = self._methods.get(name)
        if method is None:
            if len(name) > MAX_METHOD_LENGTH:
                text = f"method name too long: {len(name)}>{MAX_METHOD_LENGTH}"
                raise errors.invalid_request(text)
            self.announce(name)
            error = self.dialect.unknown_method(name, self._methods)
            reason = self._unavailable.get(name)
            if reason is None:
                raise error
            raise JsonRpcError(error.code, f"{error.message}: {reason}", error.data)
        return method

    def reject(self, request: RpcCall, error: JsonRpcError, method: str = UNKNOWN) -> bytes | None:
        """Return the answer to a call that is not executed; None for a notification."""
        identifier = self.dialect.identifier(request)
        if identifier is None:
            error = errors.invalid_request()
        elif self.dialect.is_notification(request):
            return None
        return self.refuse(identifier or NULL, error, method)

    def refuse(self, identifier: bytes, error: JsonRpcError, method: str = REFUSED) -> bytes:
        """Return the answer to a call, or a whole body, that is not executed."""
        if self.observer is not None:
            self.observer(method, 0.0, error.code)
        return self.dialect.failure(identifier, error)

    def abandon(self) -> None:
        """Count a body whose remaining calls are not executed, because its client has disconnected."""
        if self.observer is not None:
            self.observer(ABANDONED, 0.0, 0)

    def record_calls(self, names: str | dict[str, int], seconds: float) -> None:
        """Report calls that were answered without these methods: one by name, or several with their numbers."""
        counts = {names: 1} if isinstance(names, str) else names
        share = seconds / sum(counts.values())
        for name, count in counts.items():
            if self.observer is not None:
                self.observer(name, share, 0, count)
            self.announce(name, count)

    def by_shortcut(self, shortcut: Shortcut, text: bytes) -> ShortcutAnswer | None:
        """Return a shortcut's answer to a body, and report its calls; None if the methods have to answer it."""
        started = self.clock()
        try:
            response = shortcut(text, self.limits.batch, self.limits.response)
        except STOP:
            raise
        except BaseException as error:
            if not self._outage(error):  # the method fails for the same reason, and logs it
                _log.exception("the shortcut failed")
            return None
        if response is not None and response[1] is not None:
            self.record_calls(response[1], self.clock() - started)
        return response

    def by_thread_shortcut(self, text: bytes, client: WaitingClient) -> bytes | None:
        """Return the thread shortcut's answer to a body; None if the methods have to answer it.

        Raises:
            ClientGone: the client has disconnected.
        """
        if client.is_over() or self._thread_shortcut is None:
            return None
        with nullcontext() if self._inflight is None else self._inflight.running(BY_SHORTCUT):
            response = self.by_shortcut(self._thread_shortcut, text)
        return None if response is None or response[1] is None else response[0]

    def execute(
        self, call: MethodCall, connection: object, passing: tuple[type[Exception], ...]
    ) -> bytes | None:
        """Bind a call's arguments, unless they are bound already, run its handler and render the answer.

        On the event loop, exceptions in `passing` are raised to the caller. Worker threads use `run`.
        """
        method, observer = call.method, self.observer
        started = self.clock() if observer is not None else 0.0
        identifier = self.dialect.identifier(call.request)
        if identifier is None:
            return self.refuse(NULL, errors.invalid_request())
        failure: JsonRpcError | None = None
        try:
            if call.arguments is None:
                call.arguments = self.dialect.bind(method.params, call.request.params)
            result = _encode(_invoke(method, call.arguments, connection))
            answer = self.dialect.success(identifier, result)
        except passing:
            raise
        except STOP:
            raise
        except BaseException as error:
            failure = self.explain(error, method.name)
            answer = self.failure(identifier, failure)
        if observer is not None:
            observer(method.name, self.clock() - started, 0 if failure is None else failure.code)
        if passing:
            self.announce(method.name)
        if failure is not None:
            self.report(method.name, failure)
        return answer if identifier else None

    def run(self, call: MethodCall, connection: object) -> bytes | None:
        """Execute a call in a worker thread, and register it as running."""
        method = call.method
        self.announce(method.name)
        with self.running(method), self.turn(method):
            return self.execute(call, connection, ())

    def run_in_time(
        self, call: MethodCall, connection: object, client: WaitingClient
    ) -> bytes | None:
        """Execute a body's only call in a worker thread; an answer that is late is replaced by an error."""
        if call.method.untimed:
            client.lift()
        answer = self.run(call, connection)
        if answer is not None and client.is_late():
            return self.reject(call.request, errors.request_timed_out(), LATE)
        return answer

    def finish(self, call: MethodCall, text: bytes, connection: object) -> bytes | None:
        """Answer a body in a worker thread that the event loop has read, up to its only call. Never raises.

        Args:
            call: the call.
            text: the body.
            connection: the client's connection.
        """
        try:
            client = self.wait_for(connection)
            answer = self.by_thread_shortcut(text, client)
            return self.run_in_time(call, connection, client) if answer is None else answer
        except ClientGone:
            self.abandon()
            return None

    def wait_for(self, connection: object) -> WaitingClient:
        """Return the client of a body that is executed from now on."""
        return WaitingClient(connection, self.clock() + self.limits.seconds, self.clock)

    def explain(self, error: BaseException, method: str) -> JsonRpcError:
        """Return the error object of an exception; log an unexpected one once."""
        if isinstance(error, JsonRpcError):
            return error
        mapped = self._map_error(error) if isinstance(error, Exception) else None
        if mapped is None:
            if outage := self._outage(error):
                _log.warning("method %s failed", method, exc_info=error)
                return errors.unavailable(outage)
            _log.error("method %s crashed", method, exc_info=error)
            return errors.handler_crashed()
        return mapped

    def announce(self, method: str, count: int = 1) -> None:
        """Report the name of a method that is called, and the number of calls."""
        if self._announcer is not None:
            self._announcer(method, count)

    def report(self, method: str, error: JsonRpcError) -> None:
        """Report the error of a call, after the name of its method."""
        if self._on_failure is not None:
            self._on_failure(method, error)

    def running(self, method: Method) -> AbstractContextManager[None]:
        """Return a context in which calls in a thread are registered as running."""
        return nullcontext() if self._inflight is None else self._inflight.running(method.name)

    def turn(self, method: Method) -> AbstractContextManager[None]:
        """Return a context in which computing methods take turns, and others get pauses of the event loop."""
        return self._interpreter.turn() if method.computes else self._interpreter.needed()

    def failure(self, identifier: bytes, error: JsonRpcError) -> bytes:
        """Render an error, even if its message or data cannot be encoded as JSON."""
        try:
            return self.dialect.failure(identifier, error)
        except (TypeError, ValueError, RecursionError):
            _log.exception("an error object could not be encoded")
            return self.dialect.failure(identifier, errors.handler_crashed())


def _invoke(method: Method, arguments: Sequence[Any], connection: object) -> object:
    if method.guard is not None:
        method.guard(_caller_of(connection), arguments)
    if method.client:
        arguments = (getattr(connection, "client", ""), *arguments)
    if method.connection:
        if connection is None or isinstance(connection, HttpConnection):
            raise errors.notifications_not_supported()
        arguments = (connection, *arguments)
    if method.handler is not None:
        return method.handler(*arguments)
    assert method.vectorized is not None
    (outcome,) = method.vectorized([tuple(arguments)])
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def _caller_of(connection: object) -> Caller:
    """Return the sender of a call; a call without a connection comes from this process."""
    if connection is None:
        return INTERNAL_CALLER
    caller: Caller = getattr(connection, "caller", UNKNOWN_CALLER)
    return caller
