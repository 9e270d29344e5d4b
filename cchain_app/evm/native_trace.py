"""Convert traces of the crate `native/` to the port's values."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from cchain_app.evm.engine import Log
from cchain_app.evm.native_values import account_state, changes_of, logs_of
from cchain_app.evm.tracing import (
    BlockTrace,
    CodeSize,
    Frame,
    FrameLog,
    OpcodeUse,
    TouchedState,
    TransactionTrace,
)
from primitives.evm import Address, Slot, Word

if TYPE_CHECKING:
    import cchain_native


def block_trace(
    values: tuple[cchain_native.Changes, list[cchain_native.Trace]],
) -> BlockTrace:
    """Return the trace of a block's transactions."""
    before, transactions = values
    return BlockTrace(changes_of(before), tuple(map(transaction_trace, transactions)))


def transaction_trace(values: cchain_native.Trace) -> TransactionTrace:
    """Return the trace of a transaction or call."""
    (
        succeeded,
        gas_limit,
        gas_used,
        gas_peak,
        output,
        error,
        log_values,
        contract,
        frames,
        places,
        state,
        steps,
        vm,
        preimages,
    ) = values
    logs = logs_of(log_values)
    return TransactionTrace(
        succeeded=succeeded,
        gas_limit=gas_limit,
        gas_used=gas_used,
        gas_peak=gas_peak,
        output=output,
        error=error,
        logs=logs,
        contract_address=None if contract is None else Address(contract),
        frames=_frames(frames, places, logs),
        state=None if state is None else _touched_state(state),
        steps=steps,
        vm=vm,
        preimages=tuple(preimages),
    )


def _frames(
    frames: list[cchain_native.Frame], places: list[tuple[int, int]], logs: tuple[Log, ...]
) -> tuple[Frame, ...]:
    """Return the frames, each with its logs; `places` gives the frame of each log."""
    logs_by_frame: defaultdict[int, list[FrameLog]] = defaultdict(list)
    for number, ((frame, position), log) in enumerate(zip(places, logs, strict=False)):
        logs_by_frame[frame].append(FrameLog(log, number, position))
    return tuple(
        Frame(
            depth,
            kind,
            Address(sender),
            None if to is None else Address(to),
            value,
            gas,
            gas_used,
            data,
            output,
            error,
            precompile,
            tuple(logs_by_frame.get(index, ())),
            OpcodeUse() if opcodes is None else _opcode_use(opcodes),
        )
        for index, (
            depth,
            kind,
            sender,
            to,
            value,
            gas,
            gas_used,
            data,
            output,
            error,
            precompile,
            opcodes,
        ) in enumerate(frames)
    )


def _opcode_use(values: cchain_native.OpcodeUse) -> OpcodeUse:
    counts, reads, writes, transient_reads, transient_writes, code_accesses, code_sizes = values
    return OpcodeUse(
        counts,
        {Slot(slot): Word(word) for slot, word in reads.items()},
        _slot_counts(writes),
        _slot_counts(transient_reads),
        _slot_counts(transient_writes),
        tuple(Address(address) for address in code_accesses),
        {Address(address): CodeSize(*size) for address, size in code_sizes.items()},
    )


def _slot_counts(counts: dict[bytes, int]) -> dict[Slot, int]:
    return {Slot(slot): count for slot, count in counts.items()}


def _touched_state(values: cchain_native.TouchedState) -> TouchedState:
    accounts, slots, codes, changes = values
    return TouchedState(
        accounts={Address(address): account_state(state) for address, state in accounts.items()},
        slots={
            Address(address): {Slot(slot): Word(word) for slot, word in words.items()}
            for address, words in slots.items()
        },
        codes={Address(address): code for address, code in codes.items()},
        changes=changes_of(changes),
    )
