"""go-ethereum's flatCallTracer: Parity's entries in go-ethereum's variant (tracing.md 5).

The entries of `trace_*` are similar, but differ in gas, errors and results; they are in `parity`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from cchain_app.evm import failures
from cchain_app.evm.tracing import Frame, TransactionTrace
from cchain_app.tracing.options import FlatConfig, TraceContext
from cchain_app.tracing.output import TraceWriter, data, data_or_none

Json = dict[str, Any]

_WORDS: Final[Mapping[str, str]] = {
    failures.REVERTED: "Reverted",
    failures.CODE_STORAGE: "Out of gas",
    failures.OUT_OF_GAS: "Out of gas",
    failures.INVALID_JUMP: "Bad jump destination",
    failures.RETURN_DATA_OUT_OF_BOUNDS: "Out of bounds",
    "gas uint64 overflow": "Out of gas",
    failures.PRECOMPILE: "Built-in failed",
    "invalid input length": "Built-in failed",
}
_WORDS_BY_START: Final[Mapping[str, str]] = {
    "out of gas: ": "Out of gas",
    "invalid opcode: ": "Bad instruction",
    "stack underflow": "Stack underflow",
    "stack limit reached": "Out of stack",
}
_HIDDEN: Final = frozenset({"CALL", "STATICCALL"})
"""Types of calls that are hidden if they call a precompile."""


def write_flat(
    output: TraceWriter, trace: TransactionTrace, config: FlatConfig, context: TraceContext
) -> None:
    """Write the frames as a list, depth first.

    Args:
        output: Receives the answer.
        trace: The recording, with frames.
        config: What to show.
        context: The position of the transaction.

    Raises:
        TraceTooLarge: The answer is too long.
    """
    shown = [_charged(frame, trace) for frame in trace.frames if _is_shown(frame, config)]
    separator = b"["
    for frame, address, calls in zip(shown, _addresses(shown), _counts(shown), strict=True):
        output.write(separator)
        output.write_value(_entry(frame, config, context, address, calls))
        separator = b","
    output.write(b"]")


def _is_shown(frame: Frame, config: FlatConfig) -> bool:
    hidden = frame.precompile and frame.depth and frame.type in _HIDDEN
    return config.include_precompiles or not hidden


def _charged(frame: Frame, trace: TransactionTrace) -> Frame:
    """Return a frame with the gas that is shown: for the top frame the transaction's."""
    if frame.depth:
        return frame
    return frame._replace(gas=trace.gas_limit, gas_used=trace.gas_used)


def _addresses(frames: Iterable[Frame]) -> Iterator[list[int]]:
    """Yield the path of each frame: the index of the call in each frame from the top down."""
    path: list[int] = []
    for frame in frames:
        if frame.depth > len(path):
            path.append(0)
        elif frame.depth:
            del path[frame.depth :]
            path[-1] += 1
        yield path


def _counts(frames: list[Frame]) -> list[int]:
    """Return the number of inner calls of each frame."""
    counts = [0] * len(frames)
    callers: list[int] = []
    for index, frame in enumerate(frames):
        del callers[frame.depth :]
        if callers:
            counts[callers[-1]] += 1
        callers.append(index)
    return counts


def _entry(
    frame: Frame, config: FlatConfig, context: TraceContext, address: list[int], calls: int
) -> Json:
    kind, action, result = _described(frame)
    entry: Json = {
        "action": action,
        "blockHash": data_or_none(context.block_hash),
        "blockNumber": context.block_number,
    }
    if frame.error is not None:
        entry["error"] = _words(frame.error) if config.convert_parity_errors else frame.error
    if result is not None and frame.error in {None, failures.REVERTED}:
        entry["result"] = result
    return entry | {
        "subtraces": calls,
        "traceAddress": address,
        "transactionHash": data_or_none(context.transaction_hash),
        "transactionPosition": context.position,
        "type": kind,
    }


def _described(frame: Frame) -> tuple[str, Json, Json | None]:
    """Return an entry's type, its action and its result."""
    match frame.type:
        case "CREATE" | "CREATE2":
            return "create", _creation(frame), _created(frame)
        case "SELFDESTRUCT":
            return "suicide", _destruction(frame), None
        case _:
            return "call", _call(frame), _returned(frame)


def _call(frame: Frame) -> Json:
    return {
        "callType": frame.type.lower(),
        "from": data(frame.sender),
        "gas": hex(frame.gas),
        "input": data(frame.input),
        "to": data_or_none(frame.to),
        "value": hex(frame.value or 0),
    }


def _returned(frame: Frame) -> Json:
    return {"gasUsed": hex(frame.gas_used), "output": data(frame.output)}


def _creation(frame: Frame) -> Json:
    return {
        "creationMethod": frame.type.lower(),
        "from": data(frame.sender),
        "gas": hex(frame.gas),
        "init": data(frame.input),
        "value": hex(frame.value or 0),
    }


def _created(frame: Frame) -> Json:
    result = {"code": data(frame.output), "gasUsed": hex(frame.gas_used)}
    if frame.error is None and frame.to is not None:
        return {"address": data(frame.to)} | result
    return result


def _destruction(frame: Frame) -> Json:
    return {
        "address": data(frame.sender),
        "balance": hex(frame.value or 0),
        "refundAddress": data_or_none(frame.to),
    }


def _words(error: str) -> str:
    """Return Parity's message for go-ethereum's, or go-ethereum's if Parity has none (tracing.md 8)."""
    found = _WORDS.get(error)
    if found is not None:
        return found
    for start, words in _WORDS_BY_START.items():
        if error.startswith(start):
            return words
    return error
