"""How frames of the specification fail, and why an instruction cannot be executed, in geth's words."""

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
_MOST_BYTES: Final = 2**64 - 32
"""The largest multiple of 32 that has 64 bits."""
_MOST_MEMORY: Final = 0x1FFFFFFFE0
"""Bytes of memory that go-ethereum computes a price for."""

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
"""Failures of an instruction that could be executed: its step has no error (tracing.md 3)."""
_PAYS_FIRST: Final = LOGS | {OPCODES["TSTORE"]}
"""Instructions that pay before go-ethereum looks whether changes are allowed."""


@dataclass(slots=True)
class LastStep:
    """What is known of a frame's last instruction, as it was before that ran."""

    opcode: int = 0
    stack: int = 0
    """Items."""
    gas: int = 0
    items: Sequence[int] = ()
    """The stack from its top, as far as an instruction can see."""


class ReturnedCode(NamedTuple):
    """The output of a frame's code that came to its end, and the gas left then."""

    size: int
    """Bytes."""
    gas: int


def frame_words(
    error: Exception, last: LastStep, *, creation: bool, returned: ReturnedCode | None
) -> str:
    """Return the words for how a frame failed.

    Args:
        error: The specification's.
        last: The frame's last instruction.
        creation: Whether the frame creates a contract.
        returned: What its code returned before anything after it failed, if it came so far.
    """
    if type(error).__name__ == "OutOfGasError" and creation and returned is not None:
        if returned.gas < returned.size * _GAS_PER_CODE_BYTE:
            return failures.CODE_STORAGE
        return failures.code_size(returned.size, _MAX_CODE_SIZE)
    return _words(error, last)


def step_words(error: Exception, last: LastStep) -> str | None:
    """Return the words for why an instruction cannot be executed, None where its own work failed."""
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
    if end > _MOST_BYTES:
        return failures.GAS_OVERFLOW
    if end > _MOST_MEMORY:
        return failures.LARGE_MEMORY
    if is_creation and last.items[2] > _MAX_INITCODE_SIZE:
        return failures.inner_initcode_size(last.items[2], _MAX_INITCODE_SIZE)
    return failures.OUT_OF_GAS
