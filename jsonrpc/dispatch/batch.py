"""A batch: many calls in one body, with one size limit for the answers and one time limit for all of them.

Answers have the order of the requests. Consecutive calls of one vectorized method are executed together.
Rules: geth's `handleBatch`.
"""

from collections.abc import Callable, Sequence
from typing import Any

from jsonrpc import errors
from jsonrpc.dispatch.calls import LATE, REFUSED, CallExecutor
from jsonrpc.dispatch.envelope import RpcCall
from jsonrpc.dispatch.registry import Method
from jsonrpc.errors import JsonRpcError


class Batch:
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

    def run(self) -> bytes | None:
        """Execute all calls; None if there is nothing to answer."""
        return joined(self.run_each())

    def run_each(self) -> list[bytes | None]:
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
        call = self._calls[position]
        executor = self._executor
        try:
            method = executor.find(call)
        except JsonRpcError as error:
            self._answers[position] = executor.reject(call, error)
            return position + 1
        if method.vectorized is not None:
            return self._run_vector(method, position)
        if self._passing:
            answer = executor.run_hot(method, call, self._connection, self._passing)
        else:
            answer = executor.run(method, call, self._connection)
        if answer is not None:
            self._answers[position] = answer
            self._free_bytes -= len(answer)
        return position + 1

    def _run_vector(self, method: Method, start: int) -> int:
        """Execute consecutive calls of one vectorized method; return the position after them.

        An unreadable argument or an invalid id affects only its own call.
        """
        executor = self._executor
        bound: list[tuple[int, bytes]] = []
        arguments: list[tuple[Any, ...]] = []
        position = start
        for position in range(start, len(self._calls)):
            call = self._calls[position]
            if call.method != method.name or call.jsonrpc != "2.0":
                break
            identifier = executor.dialect.identifier(call)
            if identifier is None:
                self._answers[position] = executor.reject(call, errors.invalid_request(), REFUSED)
                continue
            try:
                values = executor.dialect.bind(method.params, call.params)
            except Exception as error:
                failure = executor.unbound(error, method.name)
                if identifier:
                    self._answers[position] = executor.failure(identifier, failure)
            else:
                bound.append((position, identifier))
                arguments.append(tuple(values))
        else:
            position = len(self._calls)
        if bound:
            outcomes = executor.run_vector(method, arguments, self._passing)
            self._place(bound, outcomes)
        return position

    def _place(
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
        for index in range(position, len(self._calls)):
            call = self._calls[index]
            try:
                self._executor.find(call)
            except JsonRpcError as own:
                self._answers[index] = self._executor.reject(call, own)
            else:
                self._answers[index] = self._executor.reject(
                    call, error, LATE if self._free_bytes >= 0 else REFUSED
                )


def joined(answers: Sequence[bytes | None]) -> bytes | None:
    """Return the answers of a batch as one body; None if there is nothing to answer."""
    texts = [answer for answer in answers if answer is not None]
    return b"[%b]" % b",".join(texts) if texts else None
