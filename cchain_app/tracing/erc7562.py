"""go-ethereum's erc7562Tracer: callTracer's frames with the data that ERC-4337 bundlers check (tracing.md 7).

Unspecified: an instruction that finds too few items on the stack is counted, and accesses nothing;
go-ethereum's tracer crashes there. `outOfGas` stays false if a state change was not allowed, because
that is no lack of gas, whatever go-ethereum's message for it says.
"""

from collections.abc import Mapping
from typing import Any, Final

from cchain_app.evm import failures
from cchain_app.evm.opcodes import OPCODES
from cchain_app.evm.tracing import Frame, OpcodeUse, TransactionTrace
from cchain_app.tracing.call import Nesting, head_members, log_members
from cchain_app.tracing.options import Erc7562Config
from cchain_app.tracing.output import TraceWriter, data, members
from primitives.evm import Slot

_GAS: Final = OPCODES["GAS"]


def write_accesses(
    output: TraceWriter, trace: TransactionTrace, config: Erc7562Config, first_log: int
) -> None:
    """Write the top frame with all its inner calls.

    Args:
        output: Receives the answer.
        trace: The recording, with frames, opcodes and preimages.
        config: What to show.
        first_log: Index in the block of the transaction's first log.

    Raises:
        TraceTooLarge: The answer is too long.
    """
    writing = Nesting(output)
    for frame in trace.frames:
        is_top = frame.depth == 0
        gas, gas_used = frame.gas, frame.gas_used
        if is_top:
            gas, gas_used = trace.gas_limit, trace.gas_used
        preimages = sorted(trace.preimages) if is_top else ()
        own = {
            "logs": _logs(frame, config, first_log),
            "value": None if frame.value is None else hex(frame.value),
            **_accesses(frame.opcodes, config.ignored_opcodes),
            "outOfGas": not is_top and _is_out_of_gas(frame),
            "keccak": [data(preimage) for preimage in preimages] or None,
        }
        head = head_members(frame, gas, gas_used) + b"," + members(own)
        writing.begin(frame.depth, head, b'"type":"%b"' % frame.type.encode())
    writing.end()


def _logs(frame: Frame, config: Erc7562Config, first_log: int) -> list[dict[str, Any]] | None:
    if not config.with_log:
        return None
    return [log_members(log, first_log) for log in frame.logs] or None


def _accesses(used: OpcodeUse, ignored: frozenset[int]) -> dict[str, Any]:
    counts = {
        hex(opcode): count
        for opcode, count in used.counts.items()
        if opcode == _GAS or opcode not in ignored
    }
    sizes = {
        data(address): {"contractSize": found.size, "opcode": found.opcode}
        for address, found in sorted(used.code_sizes.items())
    }
    return {
        "accessedSlots": {
            "reads": {data(slot): [data(used.reads[slot])] for slot in sorted(used.reads)},
            "writes": _by_slot(used.writes),
            "transientReads": _by_slot(used.transient_reads),
            "transientWrites": _by_slot(used.transient_writes),
        },
        "extCodeAccessInfo": [data(address) for address in used.code_accesses],
        "usedOpcodes": dict(sorted(counts.items())),
        "contractSize": sizes,
    }


def _by_slot(counts: Mapping[Slot, int]) -> dict[str, int]:
    return {data(slot): counts[slot] for slot in sorted(counts)}


def _is_out_of_gas(frame: Frame) -> bool:
    error = frame.error or ""
    return error == failures.CODE_STORAGE or error.startswith(failures.OUT_OF_GAS)
