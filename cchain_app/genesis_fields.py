"""Parse single fields of a genesis file (numbers, bytes, addresses), and the errors that can occur.

`config` (rules) and `genesis` (first block and its state) give the fields their meaning. Pure.
"""

from collections.abc import Mapping
from typing import Any, Final

from primitives.evm import Address

Document = Mapping[str, Any]
"""A decoded JSON object."""

ROW_BITS: Final = 63
"""Width of a number that has a column of its own in the rows of blocks."""

_HEXADECIMAL: Final = frozenset("0123456789abcdefABCDEF")


class GenesisFileError(Exception):
    """A genesis file that cannot be used; the message names the field and the problem."""


def read_object(document: Document, name: str, path: str = "") -> Document:
    """Return the JSON object under a name; a missing one is empty.

    Raises:
        GenesisFileError: It is not an object.
    """
    value = document.get(name)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise GenesisFileError(f"{path}{name}: not an object")
    return value


def read_number(
    document: Document, name: str, path: str = "", *, default: int | None = None, bits: int = 64
) -> int:
    """Return an integer written as a JSON number, or as a decimal or 0x-hexadecimal string.

    Raises:
        GenesisFileError: It is missing and has no default, is not a number, is negative, or is wider than `bits`.
    """
    number = read_optional_number(document, name, path, bits=bits)
    if number is not None:
        return number
    if default is None:
        raise GenesisFileError(f"{path}{name}: missing")
    return default


def read_optional_number(
    document: Document, name: str, path: str = "", *, bits: int = 64
) -> int | None:
    """Return an integer as `read_number` does, or None if it is missing or null."""
    value = document.get(name)
    if value is None:
        return None
    number = parse_number(value, f"{path}{name}")
    if number >> bits:
        raise GenesisFileError(f"{path}{name}: wider than {bits} bits")
    return number


def read_flag(document: Document, name: str, path: str = "") -> bool:
    """Return a boolean; a missing one is false.

    Raises:
        GenesisFileError: It is neither true nor false.
    """
    value = document.get(name)
    if value is None or isinstance(value, bool):
        return bool(value)
    raise GenesisFileError(f"{path}{name}: not true or false: {_text(value)}")


def parse_number(value: object, path: str) -> int:
    """Return the integer that a JSON value represents.

    Raises:
        GenesisFileError: It is not a number, or is negative.
    """
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if isinstance(value, str) and value.isascii():
        if value[:2] in ("0x", "0X") and _is_hexadecimal(value[2:] or "0"):
            return int(value[2:] or "0", 16)
        if value.isdigit() and len(value) <= 78:
            return int(value)
    raise GenesisFileError(f"{path}: not a whole number: {_text(value)}")


def read_bytes(
    document: Document, name: str, path: str = "", *, length: int | None = None
) -> bytes:
    """Return bytes written as a hexadecimal string; missing bytes are empty, or zeros of the given length.

    Raises:
        GenesisFileError: It is not a hexadecimal string, or has another length.
    """
    value = document.get(name)
    if value is None:
        return bytes(length or 0)
    data = parse_bytes(value, f"{path}{name}")
    if length is not None and len(data) != length:
        raise GenesisFileError(f"{path}{name}: {len(data)} bytes, want {length}")
    return data


def parse_bytes(value: object, path: str) -> bytes:
    """Return the bytes that a hexadecimal string represents; the 0x is optional.

    Raises:
        GenesisFileError: It is not a string, has an odd length or contains other digits.
    """
    if isinstance(value, str):
        digits = value[2:] if value[:2] in ("0x", "0X") else value
        if len(digits) % 2 == 0 and _is_hexadecimal(digits):
            return bytes.fromhex(digits)
    raise GenesisFileError(f"{path}: not hexadecimal: {_text(value)}")


def parse_word(value: object, path: str) -> bytes:
    """Return 32 bytes from a hexadecimal string of at most that length, padded on the left.

    Raises:
        GenesisFileError: It is not a hexadecimal string, or is longer.
    """
    digits = value[2:] if isinstance(value, str) and value[:2] in ("0x", "0X") else value
    if not isinstance(digits, str) or len(digits) > 64 or not _is_hexadecimal(digits):
        raise GenesisFileError(f"{path}: not a 32-byte word: {_text(value)}")
    return bytes.fromhex(digits.rjust(64, "0"))


def parse_address(value: object, path: str) -> Address:
    """Return a 20-byte address; the 0x is optional, and letter case does not matter.

    Raises:
        GenesisFileError: It is not an address.
    """
    try:
        data = parse_bytes(value, path)
    except GenesisFileError:
        data = b""
    if len(data) != 20:
        raise GenesisFileError(f"{path}: not an address: {_text(value)}")
    return Address(data)


def _is_hexadecimal(digits: str) -> bool:
    return _HEXADECIMAL.issuperset(digits)


def _text(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
