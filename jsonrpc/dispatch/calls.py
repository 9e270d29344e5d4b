"""Execution of calls: look up the method, bind arguments, run the handler, render the answer.

It executes one call, or several calls of a vectorized method together. `dispatch` reads bodies, and `batch` enforces
the limits of a batch.
"""

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, Protocol

import msgspec

from jsonrpc import errors
from jsonrpc.dispatch.caller import INTERNAL_CALLER, UNKNOWN_CALLER, Caller
from jsonrpc.dispatch.dialects import Dialect
from jsonrpc.dispatch.envelope import MAX_METHOD_LENGTH, NULL, RpcCall
from jsonrpc.dispatch.gate import HttpConnection
from jsonrpc.dispatch.inflight import Inflight
from jsonrpc.dispatch.registry import Method, MethodRegistry
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


class CallExecutor:
    """Executes calls of one interface. It has no state of its own and may run in any thread."""

    def __init__(
        self,
        registry: MethodRegistry,
        dialect: Dialect,
        *,
        clock: Callable[[], float],
        observer: CallObserver | None,
        announcer: Announcer | None,
        on_failure: FailureListener | None,
        inflight: Inflight | None,
        outage: Outage,
        interpreter: Interpreter,
    ) -> None:
        self.dialect = dialect
        self._methods = registry.methods
        self._unavailable = registry.unavailable
        self._map_error = registry.errors
        self._clock = clock
        self._observer = observer
        self._announcer = announcer
        self._on_failure = on_failure
        self._inflight = inflight
        self._outage = outage
        self._interpreter = interpreter

    def find(self, call: RpcCall) -> Method:
        """Return the called method.

        Raises:
            JsonRpcError: the request is not a call, or the method is unknown.
        """
        name = call.method
        if call.jsonrpc != "2.0" or not name:
            raise self.dialect.invalid_call(call)
        method = self._methods.get(name)
        if method is None:
            if len(name) > MAX_METHOD_LENGTH:
                text = f"method name too long: {len(name)}>{MAX_METHOD_LENGTH}"
                raise errors.invalid_request(text)
            self._announce(name)
            error = self.dialect.unknown_method(name, self._methods)
            reason = self._unavailable.get(name)
            if reason is None:
                raise error
            raise JsonRpcError(error.code, f"{error.message}: {reason}", error.data)
        return method

    def reject(self, call: RpcCall, error: JsonRpcError, method: str = UNKNOWN) -> bytes | None:
        """Return the answer to a call that is not executed; None for a notification."""
        identifier = self.dialect.identifier(call)
        if identifier is None:
            error = errors.invalid_request()
        elif self.dialect.is_notification(call):
            return None
        return self.refuse(identifier or NULL, error, method)

    def refuse(self, identifier: bytes, error: JsonRpcError, method: str = REFUSED) -> bytes:
        """Return the answer to a call, or a whole body, that is not executed."""
        if self._observer is not None:
            self._observer(method, 0.0, error.code)
        return self.dialect.failure(identifier, error)

    def abandon(self) -> None:
        """Count a body whose remaining calls are not executed, because its client has disconnected."""
        if self._observer is not None:
            self._observer(ABANDONED, 0.0, 0)

    def record_calls(self, names: str | dict[str, int], seconds: float) -> None:
        """Report calls that were answered without these methods: one by name, or several with their numbers."""
        counts = {names: 1} if isinstance(names, str) else names
        share = seconds / sum(counts.values())
        for name, count in counts.items():
            if self._observer is not None:
                self._observer(name, share, 0, count)
            self._announce(name, count)

    def run_hot(
        self,
        method: Method,
        call: RpcCall,
        connection: object,
        passing: tuple[type[Exception], ...],
    ) -> bytes | None:
        """Execute a call on the event loop; exceptions in `passing` are raised to the caller."""
        observer = self._observer
        started = self._clock() if observer is not None else 0.0
        identifier = self.dialect.identifier(call)
        if identifier is None:
            return self.refuse(NULL, errors.invalid_request())
        failure: JsonRpcError | None = None
        try:
            arguments = self.dialect.bind(method.params, call.params)
            result = _encode(self._invoke(method, arguments, connection))
            answer = self.dialect.success(identifier, result)
        except passing:
            raise
        except STOP:
            raise
        except BaseException as error:
            failure = self.explain(error, method.name)
            answer = self.failure(identifier, failure)
        if observer is not None:
            observer(method.name, self._clock() - started, 0 if failure is None else failure.code)
        if passing:
            self._announce(method.name)
        if failure is not None:
            self._report(method.name, failure)
        return answer if identifier else None

    def run(self, method: Method, call: RpcCall, connection: object) -> bytes | None:
        """Execute a call in a worker thread, and register it as running."""
        self._announce(method.name)
        with self._running(method), self._turn(method):
            return self.run_hot(method, call, connection, ())

    def run_vector(
        self, method: Method, arguments: list[tuple[Any, ...]], passing: tuple[type[Exception], ...]
    ) -> list[bytes | JsonRpcError]:
        """Execute calls of a vectorized method together; return an encoded result or an error for each."""
        assert method.vectorized is not None
        if not passing:
            self._announce(method.name, len(arguments))
        started = self._clock()
        outcomes: Sequence[object]
        try:
            if passing:
                outcomes = method.vectorized(arguments)
            else:
                with self._running(method), self._turn(method):
                    outcomes = method.vectorized(arguments)
            assert len(outcomes) == len(arguments), "one outcome for each call"
        except passing:
            raise
        except STOP:
            raise
        except BaseException as error:
            outcomes = [self.explain(error, method.name)] * len(arguments)
        blocked = next((outcome for outcome in outcomes if isinstance(outcome, passing)), None)
        if blocked is not None:
            raise blocked
        answers = [self._encoded(outcome, method.name) for outcome in outcomes]
        if passing:
            self._announce(method.name, len(arguments))
        if self._observer is not None:
            share = (self._clock() - started) / len(answers)
            for answer in answers:
                code = answer.code if isinstance(answer, JsonRpcError) else 0
                self._observer(method.name, share, code)
        for answer in answers:
            if isinstance(answer, JsonRpcError):
                self._report(method.name, answer)
        return answers

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

    def unbound(self, error: Exception, method: str) -> JsonRpcError:
        """Return the error object of a call of a vectorized method whose arguments are unreadable."""
        failure = self.explain(error, method)
        if self._observer is not None:
            self._observer(method, 0.0, failure.code)
        self._report(method, failure)
        return failure

    def _invoke(self, method: Method, arguments: Sequence[Any], connection: object) -> object:
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

    def _announce(self, method: str, count: int = 1) -> None:
        if self._announcer is not None:
            self._announcer(method, count)

    def _report(self, method: str, error: JsonRpcError) -> None:
        if self._on_failure is not None:
            self._on_failure(method, error)

    def _running(self, method: Method) -> AbstractContextManager[None]:
        """Return a context in which a call in a thread is registered as running."""
        return nullcontext() if self._inflight is None else self._inflight.running(method.name)

    def _turn(self, method: Method) -> AbstractContextManager[None]:
        """Return a context in which computing methods take turns, and others get pauses of the event loop."""
        return self._interpreter.turn() if method.computes else self._interpreter.needed()

    def _encoded(self, outcome: object, method: str) -> bytes | JsonRpcError:
        if isinstance(outcome, Exception):
            return self.explain(outcome, method)
        try:
            return _encode(outcome)
        except Exception as error:
            return self.explain(error, method)

    def failure(self, identifier: bytes, error: JsonRpcError) -> bytes:
        """Render an error, even if its message or data cannot be encoded as JSON."""
        try:
            return self.dialect.failure(identifier, error)
        except (TypeError, ValueError, RecursionError):
            _log.exception("an error object could not be encoded")
            return self.dialect.failure(identifier, errors.handler_crashed())


def _caller_of(connection: object) -> Caller:
    """Return the sender of a call; a call without a connection comes from this process."""
    if connection is None:
        return INTERNAL_CALLER
    caller: Caller = getattr(connection, "caller", UNKNOWN_CALLER)
    return caller
