"""Traces in Parity's format: the entries of `trace_*`, one for each frame, and `stateDiff` (tracing.md 12).

Entries are made from frames alone, so frames from rows and from an execution give the same entries.
go-ethereum's flatCallTracer is similar, with differences.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from cchain_app.evm import failures
from cchain_app.evm.engine import AccountState, SlotChange
from cchain_app.evm.tracing import Frame, TouchedState
from cchain_app.tracing.output import data
from primitives.evm import Address, Hash, Slot
from primitives.hashing import EMPTY_HASH

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
    frames_below: list[tuple[Frame, tuple[int, ...]]] = []
    children: list[int] = []
    around: list[int] = []
    for frame in filter(is_shown, frames):
        del around[frame.depth :]
        address: tuple[int, ...] = ()
        if around:
            caller = around[-1]
            address = (*frames_below[caller][1], children[caller])
            children[caller] += 1
        around.append(len(frames_below))
        frames_below.append((frame, address))
        children.append(0)
    return [PlacedFrame(*one, below) for one, below in zip(frames_below, children, strict=True)]


def entries(frames: Sequence[Frame]) -> Iterator[Json]:
    """Yield the entries of a results object's `trace`, which name neither block nor transaction."""
    for item in placed(frames):
        yield _entry(item)


def localized_entries(frames: Sequence[Frame], place: TransactionPlace) -> Iterator[Json]:
    """Yield the entries of an accepted transaction: trace_transaction, trace_block, trace_filter."""
    for item in placed(frames):
        yield localized_entry(item, place)


def localized_entry(item: PlacedFrame, place: TransactionPlace) -> Json:
    """Return the entry of one frame of an accepted transaction."""
    return {
        **_entry(item),
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


def _entry(item: PlacedFrame) -> Json:
    frame = item.frame
    kind = _kind(frame)
    entry: Json = {"action": _ACTIONS[kind](frame)}
    if frame.error is not None:
        entry["error"] = words(frame.error)
    entry["result"] = _result(frame, kind)
    entry["subtraces"] = item.children
    entry["traceAddress"] = item.address
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


SAME: Final = "="


def state_diff(state: TouchedState, code_of: Callable[[Hash], bytes]) -> Json:
    """Return the changed accounts by address, fees included.

    Args:
        state: The state that the transaction accessed and changed.
        code_of: Returns code by its hash, if the transaction neither accessed nor created it.
    """
    changes = state.changes
    codes = _Codes(state, code_of)
    slots: dict[Address, list[tuple[Slot, SlotChange]]] = {}
    for (address, slot), of_slot in changes.storage.items():
        slots.setdefault(address, []).append((slot, of_slot))
    differences = {}
    for address in sorted(changes.accounts.keys() | slots.keys()):
        before, after = changes.accounts.get(address, (_UNCHANGED, _UNCHANGED))
        differences[data(address)] = {
            "balance": _member(before, after, lambda account: hex(account.balance)),
            "code": _member(before, after, lambda account: codes.of(account.code_hash)),
            "nonce": _member(before, after, lambda account: hex(account.nonce)),
            "storage": _storage(before, after, slots.get(address, ())),
        }
    return differences


_UNCHANGED: Final = AccountState(0, 0, EMPTY_HASH)
"""Used as both values of an account of which only slots have changed."""


class _Codes:
    """Code as text by its hash: accessed code, created code, else code from `code_of`."""

    def __init__(self, state: TouchedState, code_of: Callable[[Hash], bytes]) -> None:
        self._known = {EMPTY_HASH: b"", **state.changes.codes}
        for address, code in state.codes.items():
            account = state.accounts.get(address)
            if account is not None:
                self._known[account.code_hash] = code
        self._code_of = code_of

    def of(self, code_hash: Hash) -> str:
        code = self._known.get(code_hash)
        return data(self._code_of(code_hash) if code is None else code)


def _member(
    before: AccountState | None, after: AccountState | None, show: Callable[[AccountState], str]
) -> Any:
    return _difference(
        None if before is None else show(before), None if after is None else show(after)
    )


def _storage(
    before: AccountState | None,
    after: AccountState | None,
    changes: Iterable[tuple[Slot, SlotChange]],
) -> Json:
    """Return the changed slots; they are added if the account was created, and removed if it was deleted."""
    return {
        data(slot): _difference(
            None if before is None else data(change.before),
            None if after is None else data(change.after),
        )
        for slot, change in sorted(changes)
    }


def _difference(before: str | None, after: str | None) -> Any:
    if before == after:
        return SAME
    if before is None:
        return {"+": after}
    if after is None:
        return {"-": before}
    return {"*": {"from": before, "to": after}}
