"""From a body to its answer: a plain function from bytes to bytes, for every door.

`answer_hot` tries on the event loop what costs no waiting, `answer` runs in a worker thread.
Limits of a body and of a batch are here; HTTP and WebSocket are not.
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
from jsonrpc.dispatch.batch import Batch
from jsonrpc.dispatch.calls import LATE, REFUSED, STOP, Announcer, Executor, Observer, Outage
from jsonrpc.dispatch.dialects import GETH, Dialect
from jsonrpc.dispatch.envelope import NULL, Body, Call, Said, valid_id
from jsonrpc.dispatch.inflight import Inflight
from jsonrpc.dispatch.registry import MethodRegistry
from jsonrpc.dispatch.workers import Gone, Waiting
from jsonrpc.errors import JsonRpcError
from jsonrpc.limits.interpreter import Interpreter
from jsonrpc.limits.turn import LoopTurn
from primitives.json_limits import may_hold_more


class Miss(Enum):
    """The type of `MISS`: the answer cannot be given without waiting."""

    MISS = "miss"


MISS: Final = Miss.MISS

HotAnswer = bytes | None | Literal[Miss.MISS]
"""An answer, nothing to answer, or `MISS`."""

ShortcutAnswer = tuple[bytes, str | dict[str, int] | None]
"""The answer to a body, and the name of its method; of a batch the number of calls by name. Without a name there is no
answer: it takes too long for the event loop."""

Shortcut = Callable[[bytes, int, int], ShortcutAnswer | None]
"""Answers a body as the methods would whose names it gives, if it can; it has counted and announced nothing. Takes
the limits of a batch, in calls and in bytes of results: what is beyond them it leaves to the dispatcher."""

BY_SHORTCUT: Final = "calls"
"""As what is entered that the shortcut for threads answers."""

SMALL_BODY: Final = 1024
"""Bytes of a body that is read on the event loop even in a turn that is spent: it takes hardly more
than receiving it, and simple questions must not wait for a thread behind those that spent it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one body may cost.

    `batch` calls; `response` bytes of results in a batch; `seconds` for a call or a batch;
    `hot_body` bytes, `hot_values` values and `hot_batch` calls up to which the event loop tries by
    itself: to read a value, or what is none, takes it up to two microseconds.
    """

    batch: int = 1000
    response: int = 25_000_000
    seconds: float = 30.0
    hot_body: int = 65_536
    hot_values: int = 2048
    hot_batch: int = 128


_log: Final = logging.getLogger("jsonrpc")


class _TooLong(Exception):
    """A batch holds up the event loop."""


class Dispatcher:
    """Answers the bodies of one interface. It has no state of calls and may run in any thread.

    Who asks several things about a body hands a `Body` in, which is read once for all of them.
    """

    def __init__(
        self,
        registry: MethodRegistry,
        dialect: Dialect = GETH,
        limits: Limits = Limits(),
        *,
        would_block: tuple[type[Exception], ...] = (),
        one_request: Callable[[], AbstractContextManager[object]] = nullcontext,
        observer: Observer | None = None,
        announcer: Announcer | None = None,
        inflight: Inflight | None = None,
        outage: Outage = lambda _error: "",
        clock: Callable[[], float] = time.monotonic,
        turn: LoopTurn | None = None,
        interpreter: Interpreter | None = None,
        shortcut: Shortcut | None = None,
        thread_shortcut: Shortcut | None = None,
    ) -> None:
        """Put an interface together.

        Args:
            registry: its methods.
            dialect: its words.
            limits: what one body may cost.
            would_block: exceptions by which a hot handler says that it would have to wait.
            one_request: entered around the calls of a batch that are tried on the event loop,
                where all of them have to share what one request may take.
            observer: told of every executed call.
            announcer: told the name of each method that is called.
            inflight: where calls in worker threads are entered while they run.
            outage: returns why the database or a server cannot serve, if that made a method fail.
            clock: seconds, rising.
            turn: what may be taken of a turn of the event loop, when others take of it as well.
            interpreter: what threads may take of the interpreter, likewise.
            shortcut: answers what it can before a body is read here.
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
        self._executor = Executor(
            registry,
            dialect,
            clock=clock,
            observer=observer,
            announcer=announcer,
            inflight=inflight,
            outage=outage,
            interpreter=interpreter or Interpreter(),
        )

    def answer_hot(
        self, body: bytes | Body, connection: object = None, *, by_methods: bool = False
    ) -> HotAnswer:
        """Answer on the event loop, or return `MISS`; `by_methods`: the shortcut was asked already.

        Nothing is executed unless every method in the body is hot. A batch in which a later call
        would block has executed the earlier ones: hot methods must be free to run twice.
        In a turn of the loop that is spent only small single calls are answered.
        """
        asked = body if isinstance(body, Body) else Body(body)
        if len(asked.text) > self._small and self._is_for_a_thread(asked.text):
            return MISS
        found = None if by_methods else self.answer_by_shortcut(asked.text)
        if found is not None:
            return found
        request = asked.says(self.dialect.read, self.limits.batch)
        if isinstance(request, JsonRpcError):
            return self._executor.refuse(NULL, request)
        if isinstance(request, list):
            return self._hot_batch(request, connection)
        return self._hot_call(request, connection)

    def tell(self, names: str | dict[str, int], seconds: float) -> None:
        """Tell of calls that were answered elsewhere as the shortcut would have: of one, or of several by name."""
        self._executor.tell(names, seconds)

    def answer_by_shortcut(self, text: bytes) -> bytes | Literal[Miss.MISS] | None:
        """Return what the shortcut says to a body, on the event loop; None if it leaves it to the methods."""
        return self._ask(self._shortcut, text)

    def _ask(self, shortcut: Shortcut | None, text: bytes) -> bytes | Literal[Miss.MISS] | None:
        if shortcut is None:
            return None
        started = self._clock()
        try:
            found = shortcut(text, self.limits.batch, self.limits.response)
        except STOP:
            raise
        except BaseException as error:
            if not self._outage(error):  # the method fails likewise, and logs it
                _log.exception("the shortcut failed")
            return None
        if found is None:
            return None
        answer, names = found
        if names is None:
            return MISS
        self._executor.tell(names, self._clock() - started)
        return answer

    def answer(self, body: bytes | Body, connection: object = None) -> bytes | None:
        """Answer in a worker thread; None if there is nothing to answer. Never raises.

        Unspecified: a client that has hung up gets no call executed any more. geth too ends a batch
        then, between two calls; a call that is alone it has begun as soon as it came.
        """
        try:
            return self._answer(body, connection)
        except Gone:
            self._executor.abandon()
            return None

    def _answer(self, body: bytes | Body, connection: object) -> bytes | None:
        waiting = self._waiting(connection)
        if not waiting.is_over():
            with self._running():
                found = self._ask(self._thread_shortcut, _text(body))
            if isinstance(found, bytes):
                return found
        # A thread that reads does not let go of the interpreter: several are not faster, but
        # the event loop would have to wait for each of them in turn.
        with self._reading if len(_text(body)) > self._small else nullcontext():
            waiting.is_over()
            request = self._read(body)
        if self._has_untimed(request):
            waiting.lift()
        if isinstance(request, JsonRpcError):
            return self._executor.refuse(NULL, request)
        if isinstance(request, list):
            return self._batch(request, connection, waiting.is_over)
        try:
            method = self._executor.find(request)
        except JsonRpcError as error:
            return self._executor.reject(request, error)
        answer = self._executor.run(method, request, connection)
        if answer is not None and waiting.is_late():
            return self._executor.reject(request, errors.request_timed_out(), LATE)
        return answer

    def is_long(self, body: bytes | Body) -> bool:
        """Whether a body takes longer to read than the event loop should be held up."""
        text, limits = _text(body), self.limits
        return len(text) > limits.hot_body or may_hold_more(text, limits.hot_values)

    def gathered_as(self, body: bytes | Body) -> str | None:
        """Return the method of a body that is one call which is best worked off together with others of it; else None."""
        text = _text(body)
        if not text.startswith(b"{") or (len(text) > self._small and self._is_for_a_thread(text)):
            return None
        request = self._read(body)
        if not isinstance(request, Call):
            return None
        method = self.registry.methods.get(request.method)
        if method is None or method.vectorized is None:
            return None
        gathers = method.gathers(bytes(request.params)) if method.gathers else not method.hot
        return method.name if gathers else None

    def answer_together(self, bodies: Sequence[bytes | Body]) -> list[bytes | None]:
        """Answer bodies that are `gathered_as` one method, in a worker thread. Never raises.

        Consecutive calls of one vectorized method are one piece of work, as in a batch; but each
        body has an answer, and room for it, of its own.
        """
        waiting = self._waiting(None)
        calls = [call for call in map(self._read, bodies) if isinstance(call, Call)]
        batch = Batch(
            self._executor,
            calls,
            None,
            room=self.limits.response * len(calls),
            expired=waiting.is_over,
        )
        return batch.run_each()

    def count(self, body: bytes | Body) -> int:
        """The number of calls that a body counts for: what a rate limit charges.

        A batch that will be refused for its length, and a body that is none, count as one.
        """
        if not _text(body).lstrip().startswith(b"["):
            return 1
        request = self._read(body)
        if not isinstance(request, list) or len(request) > self.limits.batch:
            return 1
        return max(1, len(request))

    def refuse(self, body: bytes | Body, error: JsonRpcError, why: str = REFUSED) -> bytes:
        """One error object for a whole body that is not executed; the observer hears why.

        It has the id of a single call; a batch, and a body too long to be read for that, has none.
        """
        identifier = None
        if not self.is_long(body):
            request = self._read(body)
            identifier = self.dialect.identifier(request) if isinstance(request, Call) else None
        return self._executor.refuse(identifier or NULL, error, why)

    def give_up(self, body: bytes | Body) -> bytes | None:
        """The answer to a body whose work has not come back in time: each call timed out."""
        request = self._read(body)
        if isinstance(request, JsonRpcError):
            return self._executor.refuse(NULL, request)
        if isinstance(request, list):
            return self._batch(request, None, lambda: True)
        return self._executor.reject(request, errors.request_timed_out(), LATE)

    def is_untimed(self, body: Body) -> bool:
        """Return whether a body was read and has a call of a method without a time limit."""
        said = body.read
        return said is not None and self._has_untimed(said)

    def _has_untimed(self, request: Said) -> bool:
        if isinstance(request, JsonRpcError):
            return False
        methods = self.registry.methods
        names = {call.method for call in (request if isinstance(request, list) else [request])}
        return any(name in methods and methods[name].untimed for name in names)

    def _read(self, body: bytes | Body) -> Said:
        asked = body if isinstance(body, Body) else Body(body)
        return asked.says(self.dialect.read, self.limits.batch)

    def _running(self) -> AbstractContextManager[None]:
        """Enter a body that the shortcut for threads is asked about while it is."""
        if self._inflight is None or self._thread_shortcut is None:
            return nullcontext()
        return self._inflight.running(BY_SHORTCUT)

    def _is_for_a_thread(self, body: bytes) -> bool:
        """Whether not even reading a body that is not small is for the event loop now."""
        return self.is_long(body) or self._turn.is_spent()

    def _hot_call(self, call: Call, connection: object) -> HotAnswer:
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

    def _hot_batch(self, calls: list[Call], connection: object) -> HotAnswer:
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
        self, calls: list[Call], connection: object, expired: Callable[[], bool]
    ) -> bytes | None:
        refused = self._unfit(calls)
        if refused is not None:
            return refused
        return self._run(calls, connection, expired, ())

    def _run(
        self,
        calls: list[Call],
        connection: object,
        expired: Callable[[], bool],
        passing: tuple[type[Exception], ...],
    ) -> bytes | None:
        batch = Batch(
            self._executor,
            calls,
            connection,
            room=self.limits.response,
            expired=expired,
            passing=passing,
        )
        return batch.run()

    def _unfit(self, calls: list[Call]) -> bytes | None:
        """The answer to a batch that is too short or too long."""
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

    def _waiting(self, connection: object) -> Waiting:
        return Waiting(connection, self._clock() + self.limits.seconds, self._clock)


def _text(body: bytes | Body) -> bytes:
    return body.text if isinstance(body, Body) else body
