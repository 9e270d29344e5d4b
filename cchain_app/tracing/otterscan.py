"""Traces in Otterscan's format: its list of calls, and the operations inside a transaction (tracing.md 13)."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from cchain_app.evm.tracing import Frame
from cchain_app.tracing.output import data

Json = dict[str, Any]

_OPERATIONS: Final = {"CALL": 0, "SELFDESTRUCT": 1, "CREATE": 2, "CREATE2": 3}
_WITHOUT_VALUE: Final = {"DELEGATECALL", "STATICCALL"}


def calls(frames: Iterable[Frame]) -> Iterator[Json]:
    """Yield the frames depth first, without calls of precompiles: ots_traceTransaction."""
    for frame in frames:
        if frame.precompile and frame.depth:
            continue
        shown: Json = {
            "type": frame.type,
            "depth": frame.depth,
            "from": data(frame.sender),
            "to": None if frame.to is None else data(frame.to),
            "value": None if frame.type in _WITHOUT_VALUE else hex(frame.value or 0),
            "input": data(frame.input),
        }
        if frame.type != "SELFDESTRUCT":
            shown["output"] = data(frame.output)
        yield shown


def operations(frames: Iterable[Frame]) -> Iterator[Json]:
    """Yield the value transfers and contract creations inside a transaction: ots_getInternalOperations.

    The transaction itself is not included. Reverted operations are included, as in Erigon.

    Unspecified: a creation that failed before it had an address (balance, nonce, depth) is left out.
    """
    for frame in frames:
        operation = _OPERATIONS.get(frame.type)
        if operation is None or not frame.depth or frame.to is None:
            continue
        if frame.type == "CALL" and not frame.value:
            continue
        yield {
            "type": operation,
            "from": data(frame.sender),
            "to": data(frame.to),
            "value": hex(frame.value or 0),
        }
