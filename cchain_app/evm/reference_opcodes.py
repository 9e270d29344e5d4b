"""The instructions of the specification's frames and their accesses, for erc7562Tracer (tracing.md 7).

An instruction counts when it begins, even if it fails.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

from cchain_app.evm.opcodes import CALLS, OPCODES
from cchain_app.evm.reference_steps import InstructionStep
from cchain_app.evm.tracing import CodeSize, OpcodeUse
from primitives.evm import Address, Slot, Word

_CODE_ACCESSES: Final = frozenset(
    OPCODES[name] for name in ("EXTCODESIZE", "EXTCODECOPY", "EXTCODEHASH")
)
_ENDS: Final = frozenset({OPCODES["RETURN"], OPCODES["REVERT"]})
_EXTCODESIZE: Final = OPCODES["EXTCODESIZE"]
_GAS: Final = OPCODES["GAS"]
_ISZERO: Final = OPCODES["ISZERO"]
_SLOAD: Final = OPCODES["SLOAD"]
_SSTORE: Final = OPCODES["SSTORE"]
_TLOAD: Final = OPCODES["TLOAD"]
_TSTORE: Final = OPCODES["TSTORE"]

_ENTRY_BYTES: Final = 128
"""Bytes that an entry of a frame's record counts as."""

_MAX_PADDING: Final = 2**20
"""Maximum number of bytes beyond memory that go-ethereum hashes."""


@dataclass(slots=True)
class FrameOpcodes:
    """The record of one frame's instructions."""

    counts: Counter[int] = field(default_factory=Counter)
    reads: dict[Slot, Word] = field(default_factory=dict)
    written: dict[int, Counter[Slot]] = field(default_factory=dict)
    """Counts of slots by opcode: SSTORE, TLOAD and TSTORE."""
    code_accesses: list[Address] = field(default_factory=list)
    code_sizes: dict[Address, CodeSize] = field(default_factory=dict)

    def entries(self) -> int:
        """Return the number of entries of the record."""
        slots = len(self.reads) + sum(map(len, self.written.values()))
        return len(self.counts) + slots + len(self.code_accesses) + len(self.code_sizes)

    def recorded(self) -> OpcodeUse:
        """Return the record as the port's value."""
        return OpcodeUse(
            counts=self.counts,
            reads=self.reads,
            writes=self.written.get(_SSTORE, {}),
            transient_reads=self.written.get(_TLOAD, {}),
            transient_writes=self.written.get(_TSTORE, {}),
            code_accesses=tuple(self.code_accesses),
            code_sizes=self.code_sizes,
        )


class Opcodes:
    """Records the instructions of a transaction's frames."""

    def __init__(self) -> None:
        self._previous: InstructionStep | None = None
        """The instruction before the current one, in whatever frame it ran."""

    def record(self, step: InstructionStep, frame: FrameOpcodes) -> int:
        """Record an instruction that begins; return the number of bytes by which the frame's record grew."""
        before, opcode, items = frame.entries(), step.opcode, step.last.items
        previous = None if opcode in _ENDS else self._previous
        if previous is not None:
            self._record_previous(previous, opcode, frame)
        place = int(opcode in CALLS)
        if (opcode in CALLS or opcode in _CODE_ACCESSES) and len(items) > place:
            address = _address(items[place])
            if address not in frame.code_sizes:
                frame.code_sizes[address] = CodeSize(_code_size(step.evm, address), opcode)
        if opcode != _GAS:
            frame.counts[opcode] += 1
        if items:
            _record_slot(step, frame)
        self._previous = step
        return (frame.entries() - before) * _ENTRY_BYTES

    def _record_previous(self, previous: InstructionStep, opcode: int, frame: FrameOpcodes) -> None:
        """Record the parts of an instruction that depend on the following one."""
        compares_size = previous.opcode == _EXTCODESIZE and opcode == _ISZERO
        if previous.opcode in _CODE_ACCESSES and previous.last.items and not compares_size:
            frame.code_accesses.append(_address(previous.last.items[0]))
        if previous.opcode == _GAS and opcode not in CALLS:
            frame.counts[_GAS] += 1


def _record_slot(step: InstructionStep, frame: FrameOpcodes) -> None:
    slot = Slot(step.last.items[0].to_bytes(32, "big"))
    if step.opcode == _SLOAD:
        if slot not in frame.reads and slot not in frame.written.get(_SSTORE, {}):
            value = int(step.evm.message.block_env.state.slot(step.contract, slot))
            frame.reads[slot] = Word(value.to_bytes(32, "big"))
    elif step.opcode in {_SSTORE, _TLOAD, _TSTORE}:
        frame.written.setdefault(step.opcode, Counter())[slot] += 1


def _address(word: int) -> Address:
    return Address(word.to_bytes(32, "big")[12:])


def _code_size(evm: Any, address: Address) -> int:
    account = evm.message.block_env.state.account(address)
    return 0 if account is None else len(account.code)


def hashed_bytes(step: InstructionStep) -> bytes | None:
    """Return the input of a KECCAK256, even if the gas for it is insufficient.

    Return None where go-ethereum records nothing: the stack has too few items, or memory would have to
    grow by too much.
    """
    items, memory = step.last.items, step.evm.memory
    if len(items) < 2:
        return None
    # go-ethereum reads the low 64 bits as a signed number.
    offset, length = (item % 2**64 for item in items[:2])
    if offset >> 63 or length >> 63 or offset + length - len(memory) > _MAX_PADDING:
        return None
    return bytes(memory[offset : offset + length]).ljust(length, b"\0")
