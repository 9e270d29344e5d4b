"""What a failed call tells its caller: the reason inside revert data, and geth's texts. Pure."""

from typing import Final

from cchain_app.api.errors import reverted, server_error
from cchain_app.evm.engine import CallResult
from jsonrpc.errors import JsonRpcError

ERROR: Final = bytes.fromhex("08c379a0")
"""Selector of `Error(string)`: require and revert with a text."""

PANIC: Final = bytes.fromhex("4e487b71")
"""Selector of `Panic(uint256)`: what the compiler's own checks raise."""

_PANICS: Final = {
    0x00: "generic panic",
    0x01: "assert(false)",
    0x11: "arithmetic underflow or overflow",
    0x12: "division or modulo by zero",
    0x21: "enum overflow",
    0x22: "invalid encoded storage byte array accessed",
    0x31: "out-of-bounds array access; popping on an empty array",
    0x32: "out-of-bounds access of an array or bytesN",
    0x41: "out of memory",
    0x51: "uninitialized function",
}


def failure(result: CallResult) -> JsonRpcError | None:
    """Return the error of a call that failed, None for one that worked.

    A revert has code 3 and its raw data, so that clients decode custom errors themselves.
    """
    if result.error is None:
        return None
    if not result.reverted:
        return server_error(result.error)
    reason = reason_of(result.output)
    text = result.error if reason is None else f"{result.error}: {reason}"
    return reverted(text, result.output)


def reason_of(output: bytes) -> str | None:
    """Return the reason in revert data: a text or a panic; None for anything else."""
    if output[:4] == ERROR:
        return _text(output[4:])
    if output[:4] == PANIC and len(output) >= 36:
        code = _word(output, 4)
        return _PANICS.get(code, f"unknown panic code: {code:#x}")
    return None


def _text(arguments: bytes) -> str | None:
    """Return the one string that ABI-encoded arguments hold, None when they hold none."""
    if len(arguments) < 64:
        return None
    start = _word(arguments, 0) + 32
    if start > len(arguments):
        return None
    size = _word(arguments, start - 32)
    if start + size > len(arguments):
        return None
    return arguments[start : start + size].decode("utf-8", "replace")


def _word(data: bytes, start: int) -> int:
    return int.from_bytes(data[start : start + 32], "big")
