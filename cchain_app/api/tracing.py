"""Code that the tracing methods share: the limit on concurrent traces, the cache, limits on time and size.

The methods are in `debug_traces`, `parity_traces` and `otterscan`.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Raw

from cchain_app.api.errors import server_error
from cchain_app.api.rpc import EvmRpc
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.evm.tracing import Recording, TraceTimedOut, TraceTooLarge, TransactionTrace
from cchain_app.selectors import tracing as traced
from cchain_app.selectors.tracing import BlockReplay, TraceDiffers
from cchain_app.tracing.kept import TraceKey
from cchain_app.tracing.output import Deadline
from jsonrpc.errors import JsonRpcError, response_too_large

SECONDS: Final = 5.0
"""The time limit for a transaction's trace, if the client names none."""

SHORTEST_SECONDS: Final = 0.001
"""The time limit that replaces zero or a negative one."""

_TOO_LONG: Final = b"-"
"""Cached for a block whose remaining transactions take too much time or memory to be traced in one execution."""

encode: Final = msgspec.json.Encoder().encode


class Question(NamedTuple):
    """A kind of trace, with its rendering, that can be requested for any transaction."""

    options: Hashable
    """The options that distinguish its answers from those to other questions."""
    recording: Recording
    seconds: float
    """Time limit for each transaction."""
    render: Callable[[TransactionTrace, AcceptedBlock, int], bytes]
    """Renders the answer for the transaction at an index of a block."""


def of_transaction(rpc: EvmRpc, block: AcceptedBlock, index: int, question: Question) -> Raw:
    """Return the answer about one transaction, from the cache or by executing it.

    A client that asks about a second transaction of a block is likely to ask about all of them. Then the rest of
    the block is traced in the same execution, and the answers are cached. Otherwise the first transactions would be
    executed again for each later one.
    """
    traces = rpc.chain.traces
    asked = TraceKey(block.hash, None, ("asked", question.options))

    def make() -> bytes:
        before = traces.get(asked)
        if before is None:
            traces.keep(asked, _mark(index))
        if before in {None, _mark(index), _TOO_LONG}:
            return _answer(rpc, block, index, question)
        answer, all_kept = _answers_from(rpc, block, index, question)
        traces.keep(asked, _mark(index) if all_kept else _TOO_LONG)
        return answer

    return kept(rpc, TraceKey(block.hash, index, question.options), make)


def _mark(index: int) -> bytes:
    """Return the cached mark of a block of which one transaction was requested."""
    return b"%d" % index


def _answer(rpc: EvmRpc, block: AcceptedBlock, index: int, question: Question) -> bytes:
    recorded, limit = question.recording, question.seconds
    found = traced.trace_transaction(rpc.chain, block, index, recorded, time_limit=limit)
    return question.render(found, block, index)


def _answers_from(
    rpc: EvmRpc, block: AcceptedBlock, index: int, question: Question
) -> tuple[bytes, bool]:
    """Return an answer, and cache the answers for the later transactions; also return whether all were cached.

    Together they have the time limit of one transaction, and as much memory as the whole cache.
    """
    replay, traces = BlockReplay(rpc.chain, block), rpc.chain.traces
    replay.pass_over(index, time_limit=question.seconds)
    (found,) = replay.trace(1, question.recording, time_limit=question.seconds)
    answer = question.render(found, block, index)
    bytes_left = rpc.chain.settings.trace.cache - len(answer)
    others: list[tuple[TraceKey, bytes]] = []
    all_kept = True
    try:
        for key, other in _answers_to_the_end(rpc, replay, question):
            bytes_left -= len(other)
            if bytes_left < 0:
                all_kept = False
                break
            others.append((key, other))
    except (TraceTimedOut, TraceDiffers):
        all_kept = False
    # The cache drops its oldest entries first, so the answers that are requested next must be added last.
    for key, other in reversed(others):
        traces.keep(key, other)
    return answer, all_kept


def _answers_to_the_end(
    rpc: EvmRpc, replay: BlockReplay, question: Question
) -> Iterator[tuple[TraceKey, bytes]]:
    """Yield the answers for a block's remaining transactions, up to one that is cached already.

    Answers that are too large are left out.

    Raises:
        TraceDiffers: A transaction's result differs from that in the block.
        TraceTimedOut: They take longer than one transaction may.
    """
    deadline = Deadline(question.seconds)
    while not replay.ended:
        index, left = replay.position, deadline.left()
        key = TraceKey(replay.block.hash, index, question.options)
        if rpc.chain.traces.get(key) is not None:
            return
        try:
            (trace,) = replay.trace(1, question.recording, time_limit=left)
            answer = question.render(trace, replay.block, index)
        except (TraceTooLarge, JsonRpcError):
            if replay.position == index:
                replay.pass_over(time_limit=left)
        else:
            yield key, answer


def of_block(
    rpc: EvmRpc, block: AcceptedBlock, options: Hashable, make: Callable[[], bytes]
) -> Raw:
    """Return the answer about a whole block, from the cache or made by `make`."""
    return kept(rpc, TraceKey(block.hash, None, options), make)


def kept(rpc: EvmRpc, key: TraceKey, make: Callable[[], bytes]) -> Raw:
    """Return a cached answer about an accepted block; otherwise make it when it is this thread's turn."""
    traces = rpc.chain.traces
    answer = traces.get(key)
    if answer is None:
        with tracing(rpc):
            # Another thread may have made the answer while this thread waited.
            answer = traces.get(key) or make()
        traces.keep(key, answer)
    return Raw(answer)


@contextmanager
def tracing(rpc: EvmRpc) -> Iterator[None]:
    """Trace in the body, when it is this thread's turn.

    Raises:
        JsonRpcError: -32005, too many calls trace already; -32003, the answer is too large;
            -32000, a transaction took too long.
    """
    with rpc.trace_turns.turn():
        try:
            yield
        except TraceTooLarge as error:
            raise response_too_large() from error
        except TraceTimedOut as error:
            raise server_error("execution timeout") from error


def recording(rpc: EvmRpc, **recorded: Any) -> Recording:
    """Return what to record, with the node's limit on its bytes."""
    return Recording(most_bytes=rpc.chain.settings.trace.bytes, **recorded)


def seconds(rpc: EvmRpc, wanted: float = SECONDS) -> float:
    """Return the time limit for the trace of one transaction."""
    return min(max(wanted, SHORTEST_SECONDS), rpc.chain.settings.trace.timeout)


def bounded(rpc: EvmRpc, answer: bytes) -> bytes:
    """Return an answer if its size is within the limit.

    Raises:
        JsonRpcError: -32003, the answer is too large.
    """
    if len(answer) > rpc.chain.settings.trace.bytes:
        raise response_too_large()
    return answer


def array(rpc: EvmRpc, values: Iterable[bytes]) -> bytes:
    """Return JSON values as one array.

    Raises:
        JsonRpcError: -32003, the answer is too large.
    """
    bytes_left = rpc.chain.settings.trace.bytes
    answers = []
    for value in values:
        bytes_left -= len(value) + 1
        if bytes_left < 0:
            raise response_too_large()
        answers.append(value)
    return b"[%b]" % b",".join(answers)


def encoded(rpc: EvmRpc, values: Iterable[object]) -> bytes:
    """Return any number of values as a JSON array. Raises as `array`."""
    return array(rpc, map(encode, values))
