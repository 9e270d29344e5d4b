"""Geth's messages for failed frames of the specification, and for instructions that cannot be executed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from cchain_app.evm import failures
from cchain_app.evm.opcodes import CREATIONS, LOGS, OPCODES, memory_areas

_SSTORE: Final = 0x55
_SSTORE_SENTRY: Final = 2300
_MAX_CODE_SIZE: Final = 24_576
_MAX_INITCODE_SIZE: Final = 2 * _MAX_CODE_SIZE
_GAS_PER_CODE_BYTE: Final = 200
_CREATE_GAS: Final = 32_000
_MAX_BYTES: Final = 2**64 - 32
"""The largest multiple of 32 that fits into 64 bits."""
_MAX_MEMORY: Final = 0x1FFFFFFFE0
"""Largest memory, in bytes, for which go-ethereum computes a price."""

_WORDS: Final = {
    "Revert": failures.REVERTED,
    "InvalidJumpDestError": failures.INVALID_JUMP,
    "WriteInStaticContext": failures.WRITE_PROTECTION,
    "OutOfBoundsRead": failures.RETURN_DATA_OUT_OF_BOUNDS,
    "AddressCollision": failures.ADDRESS_COLLISION,
    "StackDepthLimitError": failures.CALL_DEPTH,
    "InvalidContractPrefix": failures.CODE_PREFIX,
}
_OWN_WORK: Final = frozenset({"Revert", "InvalidJumpDestError", "OutOfBoundsRead", "InvalidOpcode"})
"""Failures of an instruction that could be executed; its step has no error (tracing.md 3)."""
_PAYS_FIRST: Final = LOGS | {OPCODES["TSTORE"]}
"""Instructions that pay before go-ethereum checks whether state changes are allowed."""


@dataclass(slots=True)
class LastStep:
    """A frame's last instruction, with the state before it ran."""

    opcode: int = 0
    stack: int = 0
    """Number of items on the stack."""
    gas: int = 0
    items: Sequence[int] = ()
    """The stack from its top, as far down as an instruction can read."""


class ReturnedCode(NamedTuple):
    """The output of a frame whose code finished, and the remaining gas at that point."""

    size: int
    """Size in bytes."""
    gas: int


def frame_words(
    error: Exception, last: LastStep, *, creation: bool, returned: ReturnedCode | None
) -> str:
    """Return the message for a failed frame.

    Args:
        error: The specification's exception.
        last: The frame's last instruction.
        creation: Whether the frame creates a contract.
        returned: The output of its code, if the code finished and something after it failed.
    """
    if type(error).__name__ == "OutOfGasError" and creation and returned is not None:
        if returned.gas < returned.size * _GAS_PER_CODE_BYTE:
            return failures.CODE_STORAGE
        return failures.code_size(returned.size, _MAX_CODE_SIZE)
    return _words(error, last)


def step_words(error: Exception, last: LastStep) -> str | None:
    """Return the message for an instruction that cannot be executed, or None if its own work failed."""
    name = type(error).__name__
    if name in _OWN_WORK or (name == "WriteInStaticContext" and last.opcode in _PAYS_FIRST):
        return None
    return _words(error, last)


def _words(error: Any, last: LastStep) -> str:
    name = type(error).__name__
    match name:
        case "OutOfGasError":
            return _out_of_gas(last)
        case "InvalidOpcode":
            return failures.invalid_opcode(getattr(error, "code", 0))
        case "StackUnderflowError":
            return failures.stack_underflow(last.stack, last.opcode)
        case "StackOverflowError":
            return failures.stack_overflow(last.stack)
        case _:
            return _WORDS.get(name, failures.PRECOMPILE)


def _out_of_gas(last: LastStep) -> str:
    if last.opcode == _SSTORE and last.gas <= _SSTORE_SENTRY:
        return failures.REENTRANCY
    is_creation = last.opcode in CREATIONS
    if is_creation and last.gas < _CREATE_GAS:
        return failures.OUT_OF_GAS
    areas = memory_areas(last.opcode, last.items)
    end = max((offset + size for offset, size in areas if size), default=0)
    if end > _MAX_BYTES:
        return failures.GAS_OVERFLOW
    if end > _MAX_MEMORY:
        return failures.LARGE_MEMORY
    if is_creation and last.items[2] > _MAX_INITCODE_SIZE:
        return failures.inner_initcode_size(last.items[2], _MAX_INITCODE_SIZE)
    return failures.OUT_OF_GAS
