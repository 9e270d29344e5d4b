"""Several calls executed together: the batches of one body, and bodies that are executed as one batch.

A batch has one size limit for its answers and one time limit. Answers have the order of the requests. Consecutive calls
of one vectorized method are executed together. Rules: geth's `handleBatch`.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from jsonrpc import errors
from jsonrpc.dispatch.calls import LATE, REFUSED, STOP, CallExecutor, MethodCall
from jsonrpc.dispatch.envelope import NULL, RpcCall, valid_id
from jsonrpc.dispatch.registry import Method
from jsonrpc.errors import JsonRpcError

_encode: Final = msgspec.json.Encoder().encode


class BatchExecutor:
    """Executes the batches of one interface. It has no state of its own and may run in any thread."""

    def __init__(self, executor: CallExecutor) -> None:
        self._executor = executor
        self._limits = executor.limits

    def refusal(self, calls: Sequence[RpcCall]) -> bytes | None:
        """Return the error for a batch that is empty or too long, else None."""
        if not calls:
            return self._executor.refuse(NULL, errors.invalid_request("empty batch"))
        if len(calls) <= self._limits.batch:
            return None
        of_calls = (valid_id(call) for call in calls if call.jsonrpc == "2.0" and call.method)
        identifier = next(filter(None, of_calls), NULL)
        error = errors.invalid_request("batch too large")
        return b"[%b]" % self._executor.refuse(identifier, error)

    def run(
        self,
        calls: Sequence[RpcCall],
        connection: object,
        expired: Callable[[], bool],
        passing: tuple[type[Exception], ...] = (),
    ) -> bytes | None:
        """Execute a batch that was not refused; None if there is nothing to answer.

        Args:
            calls: its calls.
            connection: the client's connection.
            expired: returns whether the time limit has passed.
            passing: exceptions that are raised to the caller, on the event loop; () in a thread.
        """
        batch = _Batch(
            self._executor,
            calls,
            connection,
            free_bytes=self._limits.response,
            expired=expired,
            passing=passing,
        )
        return _joined(batch.run())

    def run_together(self, requests: Sequence[RpcCall | Sequence[RpcCall]]) -> list[bytes | None]:
        """Execute calls and batches of one vectorized method together, in a worker thread; return the answer to each.

        They share the time limit. Their answers may be as long as their size limits together.
        """
        calls: list[RpcCall] = []
        for request in requests:
            if isinstance(request, RpcCall):
                calls.append(request)
            else:
                calls += request
        batch = _Batch(
            self._executor,
            calls,
            None,
            free_bytes=self._limits.response * len(requests),
            expired=self._executor.wait_for(None).is_over,
        )
        answers = iter(batch.run())
        return [
            next(answers)
            if isinstance(request, RpcCall)
            else _joined([next(answers) for _ in request])
            for request in requests
        ]


class _Batch:
    """The execution of one batch.

    `free_bytes` is the number of bytes of results after which no further calls are executed; `expired` returns
    whether the time limit has passed. Exceptions in `passing` are raised to the caller.
    """

    def __init__(
        self,
        executor: CallExecutor,
        calls: Sequence[RpcCall],
        connection: object,
        *,
        free_bytes: int,
        expired: Callable[[], bool],
        passing: tuple[type[Exception], ...] = (),
    ) -> None:
        self._executor = executor
        self._calls = calls
        self._connection = connection
        self._free_bytes = free_bytes
        self._expired = expired
        self._passing = passing
        self._answers: list[bytes | None] = [None] * len(calls)

    def run(self) -> list[bytes | None]:
        """Execute all calls and return the answer to each, None for calls without an answer."""
        position = 0
        while position < len(self._calls):
            stopped = self._stopped()
            if stopped is not None:
                self._refuse_from(position, stopped)
                break
            position = self._step(position)
        return self._answers

    def _stopped(self) -> JsonRpcError | None:
        if self._free_bytes < 0:
            return errors.response_too_large()
        return errors.request_timed_out() if self._expired() else None

    def _step(self, position: int) -> int:
        """Execute the next call, or the next vectorized calls; return the position after them."""
        request = self._calls[position]
        executor = self._executor
        try:
            method = executor.find(request)
        except JsonRpcError as error:
            self._answers[position] = executor.reject(request, error)
            return position + 1
        if method.vectorized is not None:
            return self._run_consecutive(method, position)
        call = MethodCall(method, request)
        if self._passing:
            answer = executor.execute(call, self._connection, self._passing)
        else:
            answer = executor.run(call, self._connection)
        if answer is not None:
            self._answers[position] = answer
            self._free_bytes -= len(answer)
        return position + 1

    def _run_consecutive(self, method: Method, start: int) -> int:
        """Execute consecutive calls of one vectorized method; return the position after them.

        An unreadable argument or an invalid id affects only its own call.
        """
        dialect = self._executor.dialect
        bound: list[tuple[int, bytes]] = []
        arguments: list[tuple[Any, ...]] = []
        position = start
        for position in range(start, len(self._calls)):
            request = self._calls[position]
            if request.method != method.name or request.jsonrpc != "2.0":
                break
            identifier = dialect.identifier(request)
            if identifier is None:
                error = errors.invalid_request()
                self._answers[position] = self._executor.reject(request, error, REFUSED)
                continue
            try:
                values = dialect.bind(method.params, request.params)
            except Exception as error:
                self._answers[position] = self._unreadable(error, method, identifier)
            else:
                bound.append((position, identifier))
                arguments.append(tuple(values))
        else:
            position = len(self._calls)
        if bound:
            self._store(bound, self._run_vectorized(method, arguments))
        return position

    def _unreadable(self, error: Exception, method: Method, identifier: bytes) -> bytes | None:
        """Return the answer to a call whose arguments are unreadable; None for a notification."""
        failure = self._executor.explain(error, method.name)
        if self._executor.observer is not None:
            self._executor.observer(method.name, 0.0, failure.code)
        self._executor.report(method.name, failure)
        return self._executor.failure(identifier, failure) if identifier else None

    def _run_vectorized(
        self, method: Method, arguments: list[tuple[Any, ...]]
    ) -> list[bytes | JsonRpcError]:
        """Execute calls of a vectorized method together; return an encoded result or an error for each."""
        assert method.vectorized is not None
        executor, passing = self._executor, self._passing
        if not passing:
            executor.announce(method.name, len(arguments))
        started = executor.clock()
        outcomes: Sequence[object]
        try:
            if passing:
                outcomes = method.vectorized(arguments)
            else:
                with executor.running(method), executor.turn(method):
                    outcomes = method.vectorized(arguments)
            assert len(outcomes) == len(arguments), "one outcome for each call"
        except passing:
            raise
        except STOP:
            raise
        except BaseException as error:
            outcomes = [executor.explain(error, method.name)] * len(arguments)
        blocked = next((outcome for outcome in outcomes if isinstance(outcome, passing)), None)
        if blocked is not None:
            raise blocked
        answers = [self._encoded(outcome, method.name) for outcome in outcomes]
        if passing:
            executor.announce(method.name, len(arguments))
        if executor.observer is not None:
            share = (executor.clock() - started) / len(answers)
            for answer in answers:
                code = answer.code if isinstance(answer, JsonRpcError) else 0
                executor.observer(method.name, share, code)
        for answer in answers:
            if isinstance(answer, JsonRpcError):
                executor.report(method.name, answer)
        return answers

    def _encoded(self, outcome: object, method: str) -> bytes | JsonRpcError:
        if isinstance(outcome, Exception):
            return self._executor.explain(outcome, method)
        try:
            return _encode(outcome)
        except Exception as error:
            return self._executor.explain(error, method)

    def _store(
        self, bound: list[tuple[int, bytes]], outcomes: Sequence[bytes | JsonRpcError]
    ) -> None:
        """Store the outcomes of vectorized calls at the positions of their calls, within the size limit."""
        executor = self._executor
        success = executor.dialect.success
        free_bytes = self._free_bytes
        for (position, identifier), outcome in zip(bound, outcomes, strict=True):
            if not identifier:
                continue
            if free_bytes < 0:
                answer = executor.failure(identifier, errors.response_too_large())
            elif isinstance(outcome, JsonRpcError):
                answer = executor.failure(identifier, outcome)
            else:
                answer = success(identifier, outcome)
                free_bytes -= len(outcome)
            self._answers[position] = answer
        self._free_bytes = free_bytes

    def _refuse_from(self, position: int, error: JsonRpcError) -> None:
        """Answer the remaining calls with one error, without executing them."""
        why = LATE if self._free_bytes >= 0 else REFUSED
        for index in range(position, len(self._calls)):
            request = self._calls[index]
            try:
                self._executor.find(request)
            except JsonRpcError as own:
                self._answers[index] = self._executor.reject(request, own)
            else:
                self._answers[index] = self._executor.reject(request, error, why)


def _joined(answers: Sequence[bytes | None]) -> bytes | None:
    """Return the answers of a batch as one body; None if there is nothing to answer."""
    texts = [answer for answer in answers if answer is not None]
    return b"[%b]" % b",".join(texts) if texts else None
