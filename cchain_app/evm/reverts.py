"""The reason in revert data, with geth's wording: `Error(string)` and `Panic(uint256)`."""

import re
from typing import Final

ERROR_SELECTOR: Final = bytes.fromhex("08c379a0")
"""Selector of `Error(string)`, which require and revert with a text use."""

PANIC_SELECTOR: Final = bytes.fromhex("4e487b71")
"""Selector of `Panic(uint256)`, which the compiler's own checks use."""

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
    if output[:4] == ERROR_SELECTOR:
        return _text(output[4:])
    if output[:4] == PANIC_SELECTOR and len(output) >= 36:
        code = _word(output, 4)
        return _PANICS.get(code, f"unknown panic code: {code:#x}")
    return None


def _text(arguments: bytes) -> str | None:
    """Return the string that ABI-encoded arguments contain, or None if they contain no string."""
    if len(arguments) < 64:
        return None
    start = _word(arguments, 0) + 32
    if start > len(arguments):
        return None
    size = _word(arguments, start - 32)
    if start + size > len(arguments):
        return None
    # like Go: each byte that is not valid UTF-8 becomes a separate character
    text = arguments[start : start + size].decode("utf-8", "surrogateescape")
    return _ESCAPED.sub("\ufffd", text)


def _word(data: bytes, start: int) -> int:
    return int.from_bytes(data[start : start + 32], "big")
