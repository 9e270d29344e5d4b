"""go-ethereum's callTracer: nested frames (tracing.md 4), up to 1,024 deep.

They are written from the flat list of frames, without recursion. This module also has two tracers that use the same
frames: 4byteTracer, which counts the called selectors, and erc7562Tracer, which adds the data that ERC-4337 bundlers
check (tracing.md 7).

Unspecified (erc7562Tracer): an instruction that finds too few items on the stack is counted, and accesses nothing;
go-ethereum's tracer crashes there. `outOfGas` stays false if a state change was not allowed, because that is not a
lack of gas, whatever go-ethereum's message for it says.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from cchain_app.evm import failures
from cchain_app.evm.failures import REVERTED, reason_of
from cchain_app.evm.opcodes import OPCODES
from cchain_app.evm.tracing import Frame, FrameLog, OpcodeUse, TransactionTrace
from cchain_app.tracing.options import CallConfig, Erc7562Config
from cchain_app.tracing.output import TraceWriter, data, members
from primitives.evm import Slot

_CREATIONS = frozenset({"CREATE", "CREATE2"})
_CALLS = frozenset({"CALL", "CALLCODE", "DELEGATECALL", "STATICCALL"})
_SELECTOR = 4


def write_calls(
    output: TraceWriter, trace: TransactionTrace, config: CallConfig, first_log: int
) -> None:
    """Write the top frame with all its inner calls.

    Args:
        output: Receives the answer.
        trace: The recording, with frames.
        config: What to show.
        first_log: Index in the block of the transaction's first log.

    Raises:
        TraceTooLarge: The answer is too long.
    """
    writing = Nesting(output)
    for frame in trace.frames[:1] if config.only_top_call else trace.frames:
        gas, gas_used = frame.gas, frame.gas_used
        if frame.depth == 0:
            gas, gas_used = trace.gas_limit, trace.gas_used
        tail = f'"type":"{frame.type}"'.encode()
        if frame.value is not None:
            tail = f'"value":"{frame.value:#x}",'.encode() + tail
        if config.with_log and frame.logs:
            logs = [log_members(log, first_log) for log in frame.logs]
            if config.only_top_call:
                logs = [log | {"position": "0x0"} for log in logs]
            tail = members({"logs": logs}) + b"," + tail
        writing.begin(frame.depth, head_members(frame, gas, gas_used), tail)
    writing.end()


class Nesting:
    """Writes nested frames, which are given depth first: `calls` is between the other members of a frame."""

    def __init__(self, output: TraceWriter) -> None:
        self._output = output
        self._tails: list[bytes] = []
        """The remaining members of each open frame, from the top frame down."""
        self._has_calls: list[bool] = []

    def begin(self, depth: int, head: bytes, tail: bytes) -> None:
        """Close the frames that end before this one, and write its first members."""
        self._close(depth)
        if self._has_calls:
            self._output.write(b"," if self._has_calls[-1] else b',"calls":[')
            self._has_calls[-1] = True
        self._output.write(b"{" + head)
        self._tails.append(b"," + tail + b"}")
        self._has_calls.append(False)

    def end(self) -> None:
        """Write the remaining members of all frames."""
        self._close(0)

    def _close(self, depth: int) -> None:
        while len(self._tails) > depth:
            if self._has_calls.pop():
                self._output.write(b"]")
            self._output.write(self._tails.pop())


def head_members(frame: Frame, gas: int, gas_used: int) -> bytes:
    """Return the members of a frame from `from` to `revertReason`."""
    # Formatted as text, because encoding a dictionary would take most of the time of a trace.
    to = output = ""
    if frame.to and not (frame.type in _CREATIONS and frame.error is not None):
        to = f',"to":"0x{frame.to.hex()}"'
    if frame.output:
        output = f',"output":"0x{frame.output.hex()}"'
    head = (
        f'"from":"0x{frame.sender.hex()}","gas":"{gas:#x}","gasUsed":"{gas_used:#x}"{to}'
        f',"input":"0x{frame.input.hex()}"{output}'
    ).encode()
    if frame.error is None:
        return head
    return head + b"," + members({"error": frame.error, "revertReason": _reason(frame)})


def _reason(frame: Frame) -> str | None:
    if frame.error != REVERTED:
        return None
    return reason_of(frame.output) or None


def log_members(log: FrameLog, first_log: int) -> dict[str, Any]:
    """Return the members of a log; `first_log` is the index in the block of the transaction's first."""
    return {
        "address": data(log.log.address),
        "topics": [data(topic) for topic in log.log.topics],
        "data": data(log.log.data),
        "index": hex(first_log + log.number),
        "position": hex(log.position),
    }


def write_selectors(output: TraceWriter, trace: TransactionTrace) -> None:
    """Write how often each selector was called, with the size of the remaining input: 4byteTracer."""
    counted = Counter(
        f"{data(frame.input[:_SELECTOR])}-{len(frame.input) - _SELECTOR}"
        for frame in trace.frames
        if frame.type in _CALLS and not frame.precompile and len(frame.input) >= _SELECTOR
    )
    output.write_value(dict(sorted(counted.items())))


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
        data(address): {"contractSize": code_size.size, "opcode": code_size.opcode}
        for address, code_size in sorted(used.code_sizes.items())
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
