"""The reason that revert data names, in geth's words: `Error(string)` and `Panic(uint256)`."""

import re
from typing import Final

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

_ESCAPED: Final = re.compile("[\udc80-\udcff]")


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
    # as Go writes it: each byte that is no UTF-8 becomes a character of its own
    text = arguments[start : start + size].decode("utf-8", "surrogateescape")
    return _ESCAPED.sub("\ufffd", text)


def _word(data: bytes, start: int) -> int:
    return int.from_bytes(data[start : start + 32], "big")
