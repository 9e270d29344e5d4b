"""How a call failed, from the specification's exceptions to geth's words.

Unspecified: memory beyond 64 bits is "out of gas" here; geth says "gas uint64 overflow".
"""

from cchain_app.evm import failures
from cchain_app.evm.engine import CallMessage
from cchain_app.evm.reference_trace import Watcher

_SSTORE = 0x55
_SSTORE_SENTRY = 2300
_MAX_CODE_SIZE = 24576

_WORDS = {
    "Revert": failures.REVERTED,
    "InvalidJumpDestError": failures.INVALID_JUMP,
    "WriteInStaticContext": failures.WRITE_PROTECTION,
    "OutOfBoundsRead": failures.RETURN_DATA_OUT_OF_BOUNDS,
    "AddressCollision": failures.ADDRESS_COLLISION,
    "StackDepthLimitError": failures.CALL_DEPTH,
    "InvalidContractPrefix": failures.CODE_PREFIX,
}


def failure_words(message: CallMessage, watcher: Watcher) -> str:
    """Return geth's words for how the top frame of a call failed."""
    if not watcher.ended:
        return failures.ADDRESS_COLLISION
    name = type(watcher.error).__name__
    match name:
        case "OutOfGasError":
            return _out_of_gas(message, watcher)
        case "InvalidOpcode":
            return failures.invalid_opcode(getattr(watcher.error, "code", 0))
        case "StackUnderflowError":
            return failures.stack_underflow(watcher.stack, watcher.opcode)
        case "StackOverflowError":
            return failures.stack_overflow(watcher.stack)
        case _:
            return _WORDS.get(name, failures.PRECOMPILE)


def _out_of_gas(message: CallMessage, watcher: Watcher) -> str:
    if message.to is None and watcher.returned is not None:
        if len(watcher.returned) > _MAX_CODE_SIZE:
            return failures.CODE_TOO_LARGE
        return failures.CODE_STORAGE
    if watcher.opcode == _SSTORE and watcher.gas <= _SSTORE_SENTRY:
        return failures.REENTRANCY
    return failures.OUT_OF_GAS
