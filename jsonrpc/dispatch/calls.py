"""Executes calls: looks the method up, binds, runs the handler, renders the answer.

One call, or several calls of a vectorized method at once. What a body is, and what a batch may
cost, is in `dispatch` and `batch`.
"""

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, Protocol

import msgspec

from jsonrpc import errors
from jsonrpc.dispatch.caller import INTERNAL_CALLER, UNKNOWN_CALLER, Caller
from jsonrpc.dispatch.dialects import Dialect
from jsonrpc.dispatch.envelope import MAX_METHOD_LENGTH, NULL, Call
from jsonrpc.dispatch.gate import HttpConnection
from jsonrpc.dispatch.inflight import Inflight
from jsonrpc.dispatch.registry import Method, MethodRegistry
from jsonrpc.errors import JsonRpcError
from jsonrpc.limits.interpreter import Interpreter


class Observer(Protocol):
    """Told of executed calls."""

    def __call__(self, method: str, seconds: float, code: int = 0, count: int = 1, /) -> None:
        """Count calls of a method that took so long each; code of the error (0 for a result)."""


Announcer = Callable[[str, int], None]
"""Told the name of a method, and of how many calls, before they are executed in a thread, once they were on
the event loop. Of a method that does not exist, too."""

Outage = Callable[[BaseException], str]
"""Returns why the database or a server cannot serve at the moment if that is the cause of an error, else nothing."""

UNKNOWN: Final = "unknown"
"""What the observer gets as the name of a method that does not exist."""

REFUSED: Final = "refused"
"""Likewise of what cannot be read, or may not be asked like that."""
LIMITED: Final = "limited"
"""Of what was asked too often."""
OVERLOADED: Final = "overloaded"
"""Of what found no room to wait for a thread."""
LATE: Final = "late"
"""Of what was not executed, or not answered, in time."""
ABANDONED: Final = "abandoned"
"""Of a body that was not executed, or not to its end, since its client had hung up."""

NOT_EXECUTED: Final = frozenset({UNKNOWN, REFUSED, LIMITED, OVERLOADED, LATE, ABANDONED})
"""All of these; no method has such a name."""

_log: Final = logging.getLogger("jsonrpc")
# A panic in a native extension is no `Exception`, but a crashed handler all the same.
STOP: Final = (KeyboardInterrupt, SystemExit, GeneratorExit)
_encode: Final = msgspec.json.Encoder().encode


class Executor:
    """Executes calls of one interface. It has no state of its own and may run in any thread."""

    def __init__(
        self,
        registry: MethodRegistry,
        dialect: Dialect,
        *,
        clock: Callable[[], float],
        observer: Observer | None,
        announcer: Announcer | None,
        inflight: Inflight | None,
        outage: Outage,
        interpreter: Interpreter,
    ) -> None:
        self.dialect = dialect
        self._methods = registry.methods
        self._map_error = registry.errors
        self._clock = clock
        self._observer = observer
        self._announcer = announcer
        self._inflight = inflight
        self._outage = outage
        self._interpreter = interpreter

    def find(self, call: Call) -> Method:
        """The method that is called.

        Raises:
            JsonRpcError: it is no call, or there is no such method.
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
            raise self.dialect.unknown_method(name, self._methods)
        return method

    def reject(self, call: Call, error: JsonRpcError, method: str = UNKNOWN) -> bytes | None:
        """The answer to a call that is not executed; None for a notification."""
        identifier = self.dialect.identifier(call)
        if identifier is None:
            error = errors.invalid_request()
        elif self.dialect.is_notification(call):
            return None
        return self.refuse(identifier or NULL, error, method)

    def refuse(self, identifier: bytes, error: JsonRpcError, method: str = REFUSED) -> bytes:
        """The answer to something that is not executed, a call or a whole body."""
        if self._observer is not None:
            self._observer(method, 0.0, error.code)
        return self.dialect.failure(identifier, error)

    def abandon(self) -> None:
        """Leave what is left of a body: nobody waits for the answer, so there is none."""
        if self._observer is not None:
            self._observer(ABANDONED, 0.0, 0)

    def tell(self, names: str | dict[str, int], seconds: float) -> None:
        """Tell of calls that were answered without these methods: of one, or of several by name."""
        counts = {names: 1} if isinstance(names, str) else names
        share = seconds / sum(counts.values())
        for name, count in counts.items():
            if self._observer is not None:
                self._observer(name, share, 0, count)
            self._announce(name, count)

    def run_hot(
        self, method: Method, call: Call, connection: object, passing: tuple[type[Exception], ...]
    ) -> bytes | None:
        """Execute on the event loop; exceptions in `passing` travel on to the caller."""
        observer = self._observer
        started = self._clock() if observer is not None else 0.0
        identifier = self.dialect.identifier(call)
        if identifier is None:
            return self.refuse(NULL, errors.invalid_request())
        code = 0
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
            code = failure.code
            answer = self.failure(identifier, failure)
        if observer is not None:
            observer(method.name, self._clock() - started, code)
        if passing:
            self._announce(method.name)
        return answer if identifier else None

    def run(self, method: Method, call: Call, connection: object) -> bytes | None:
        """Execute in a worker thread: the call is entered as running."""
        self._announce(method.name)
        with self._running(method), self._turn(method):
            return self.run_hot(method, call, connection, ())

    def run_vector(
        self, method: Method, arguments: list[tuple[Any, ...]], passing: tuple[type[Exception], ...]
    ) -> list[bytes | JsonRpcError]:
        """Execute calls of a vectorized method as one: an encoded result or error for each."""
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
        return answers

    def explain(self, error: BaseException, method: str) -> JsonRpcError:
        """The error object of an exception; one that nobody expected goes to the log, once."""
        if isinstance(error, JsonRpcError):
            return error
        mapped = self._map_error(error) if isinstance(error, Exception) else None
        if mapped is None:
            if words := self._outage(error):
                _log.warning("method %s failed", method, exc_info=error)
                return errors.unavailable(words)
            _log.error("method %s crashed", method, exc_info=error)
            return errors.handler_crashed()
        return mapped

    def unbound(self, error: Exception, method: str) -> JsonRpcError:
        """The error object of a call of a vectorized method whose arguments cannot be read."""
        failure = self.explain(error, method)
        if self._observer is not None:
            self._observer(method, 0.0, failure.code)
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

    def _running(self, method: Method) -> AbstractContextManager[None]:
        """Enter a call in a thread while it runs."""
        return nullcontext() if self._inflight is None else self._inflight.running(method.name)

    def _turn(self, method: Method) -> AbstractContextManager[None]:
        """Let what never waits take turns, and everything else have its own beside the event loop."""
        return self._interpreter.turn() if method.computes else self._interpreter.needed()

    def _encoded(self, outcome: object, method: str) -> bytes | JsonRpcError:
        if isinstance(outcome, Exception):
            return self.explain(outcome, method)
        try:
            return _encode(outcome)
        except Exception as error:
            return self.explain(error, method)

    def failure(self, identifier: bytes, error: JsonRpcError) -> bytes:
        """Render an error whose message or data may not be fit for JSON."""
        try:
            return self.dialect.failure(identifier, error)
        except (TypeError, ValueError, RecursionError):
            _log.exception("an error object could not be encoded")
            return self.dialect.failure(identifier, errors.handler_crashed())


def _caller_of(connection: object) -> Caller:
    """Return the sender of a call; calls without a connection come from this process."""
    if connection is None:
        return INTERNAL_CALLER
    caller: Caller = getattr(connection, "caller", UNKNOWN_CALLER)
    return caller
