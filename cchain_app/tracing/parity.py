"""Traces in Parity's format: the entries of `trace_*`, one for each frame (tracing.md 12).

They are made from frames alone, so frames from rows and from an execution give the same entries. State
differences are in `state_diff`; go-ethereum's flatCallTracer is similar, with differences.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from cchain_app.evm import failures
from cchain_app.evm.tracing import Frame
from cchain_app.tracing.output import data
from primitives.evm import Address, Hash

Json = dict[str, Any]

_WORDS: Final = {
    failures.REVERTED: "Reverted",
    failures.OUT_OF_GAS: "Out of gas",
    failures.CODE_STORAGE: "Out of gas",
    failures.INVALID_JUMP: "Bad jump destination",
    failures.RETURN_DATA_OUT_OF_BOUNDS: "Out of bounds",
    failures.WRITE_PROTECTION: "Mutable Call In Static Context",
    failures.PRECOMPILE: "Built-in failed",
    "gas uint64 overflow": "Out of gas",
    "invalid input length": "Built-in failed",
}
_WORDS_BY_START: Final = {
    f"{failures.OUT_OF_GAS}: ": "Out of gas",
    failures.CODE_TOO_LARGE: "Out of gas",
    "invalid opcode: ": "Bad instruction",
    "stack underflow": "Stack underflow",
    "stack limit reached": "Out of stack",
}


class TransactionPlace(NamedTuple):
    """The position of a transaction in the chain."""

    block_hash: Hash
    block_number: int
    transaction_hash: Hash
    position: int
    """Index in the block, from 0."""


class PlacedFrame(NamedTuple):
    """A frame, and its position in the tree of shown frames."""

    frame: Frame
    address: tuple[int, ...]
    """Its path: the index of the call in each frame from the top down."""
    children: int
    """Number of calls that the frame made directly."""


def words(error: str) -> str:
    """Return Parity's message for a frame's error, or the error itself if Parity has none (tracing.md 8)."""
    found = _WORDS.get(error)
    if found is not None:
        return found
    return next((said for start, said in _WORDS_BY_START.items() if error.startswith(start)), error)


def is_shown(frame: Frame) -> bool:
    """Return whether a frame has an entry: inner calls of precompiles have an entry only if they transfer value."""
    return not frame.precompile or frame.depth == 0 or bool(frame.value)


def placed(frames: Sequence[Frame]) -> list[PlacedFrame]:
    """Return the shown frames in order, with their positions in the tree."""
    found: list[tuple[Frame, tuple[int, ...]]] = []
    children: list[int] = []
    around: list[int] = []
    for frame in filter(is_shown, frames):
        del around[frame.depth :]
        address: tuple[int, ...] = ()
        if around:
            caller = around[-1]
            address = (*found[caller][1], children[caller])
            children[caller] += 1
        around.append(len(found))
        found.append((frame, address))
        children.append(0)
    return [PlacedFrame(*one, below) for one, below in zip(found, children, strict=True)]


def entries(frames: Sequence[Frame]) -> Iterator[Json]:
    """Yield the entries of a results object's `trace`, which name neither block nor transaction."""
    for item in placed(frames):
        yield _entry(item)


def localized_entries(frames: Sequence[Frame], place: TransactionPlace) -> Iterator[Json]:
    """Yield the entries of an accepted transaction: trace_transaction, trace_block, trace_filter."""
    for item in placed(frames):
        yield localized_entry(item, place)


def localized_entry(one: PlacedFrame, place: TransactionPlace) -> Json:
    """Return the entry of one frame of an accepted transaction."""
    return {
        **_entry(one),
        "blockHash": data(place.block_hash),
        "blockNumber": place.block_number,
        "transactionHash": data(place.transaction_hash),
        "transactionPosition": place.position,
    }


def reward_entry(
    author: Address, wei: int, block_hash: Hash, block_number: int, *, of_uncle: bool
) -> Json:
    """Return the entry of a proof-of-work reward."""
    return {
        "action": {
            "author": data(author),
            "rewardType": "uncle" if of_uncle else "block",
            "value": hex(wei),
        },
        "blockHash": data(block_hash),
        "blockNumber": block_number,
        "result": None,
        "subtraces": 0,
        "traceAddress": (),
        "transactionHash": None,
        "transactionPosition": None,
        "type": "reward",
    }


def _entry(one: PlacedFrame) -> Json:
    frame = one.frame
    kind = _kind(frame)
    entry: Json = {"action": _ACTIONS[kind](frame)}
    if frame.error is not None:
        entry["error"] = words(frame.error)
    entry["result"] = _result(frame, kind)
    entry["subtraces"] = one.children
    entry["traceAddress"] = one.address
    entry["type"] = kind
    return entry


def _kind(frame: Frame) -> str:
    if frame.type == "SELFDESTRUCT":
        return "suicide"
    return "create" if frame.type.startswith("CREATE") else "call"


def _call(frame: Frame) -> Json:
    return {
        "from": data(frame.sender),
        "callType": frame.type.lower(),
        "gas": hex(frame.gas),
        "input": data(frame.input),
        "to": data(frame.to or b""),
        "value": hex(frame.value or 0),
    }


def _creation(frame: Frame) -> Json:
    return {
        "from": data(frame.sender),
        "creationMethod": frame.type.lower(),
        "gas": hex(frame.gas),
        "init": data(frame.input),
        "value": hex(frame.value or 0),
    }


def _selfdestruct(frame: Frame) -> Json:
    return {
        "address": data(frame.sender),
        "balance": hex(frame.value or 0),
        "refundAddress": data(frame.to or b""),
    }


_ACTIONS: Final = {"call": _call, "create": _creation, "suicide": _selfdestruct}


def _result(frame: Frame, kind: str) -> Json | None:
    """Return the result of a frame; None for a SELFDESTRUCT, and for a failure other than a revert.

    Unspecified: a creation that reverts shows its address, as in Reth; Erigon shows no result.
    """
    if kind == "suicide" or frame.error not in (None, failures.REVERTED):
        return None
    if kind == "call":
        return {"gasUsed": hex(frame.gas_used), "output": data(frame.output)}
    return {
        "address": data(frame.to or b""),
        "code": data(frame.output),
        "gasUsed": hex(frame.gas_used),
    }
