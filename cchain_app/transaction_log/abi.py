"""Decode ABI-encoded arguments into values that can be shown. Pure.

A contract encoded the bytes and may be malicious, so decoding is bounded (`bounded_abi`), and strings
may have any bytes.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from cchain_app.transaction_log.errors import MalformedDeclaration
from primitives.evm import Address
from primitives.hashing import keccak256
from primitives.hexadecimal import checksum_address

MAX_BYTES: Final = 1_000_000
"""Maximum size of arguments that are decoded."""

SELECTOR_BYTES: Final = 4

Value = str | int | bool | tuple["Value", ...]
"""A decoded argument. Addresses are strings in EIP-55's notation, bytes are hex strings; an array is a tuple."""


def selector_of(signature: str) -> bytes:
    """Return the four bytes that identify a function or an error with this signature."""
    return keccak256(signature.encode())[:SELECTOR_BYTES]


def decode(types: Sequence[str], data: bytes) -> tuple[Value, ...]:
    """Decode arguments.

    Args:
        types: Elementary types, tuples in parentheses, and arrays of both.
        data: The encoding, without a selector.

    Raises:
        Undecodable: It does not encode such arguments, is longer than `MAX_BYTES`, or shares parts too often.
    """
    # Imported here: it takes a fifth of a second, and most chains never log.
    from cchain_app.transaction_log import bounded_abi

    values = bounded_abi.decode(types, data, most=MAX_BYTES)
    return tuple(_value(type_, value) for type_, value in zip(types, values, strict=True))


def split(text: str) -> Iterator[str]:
    """Yield the parts that commas separate, ignoring commas in parentheses.

    Raises:
        MalformedDeclaration: The parentheses do not close, or a part is empty.
    """
    depth, start = 0, 0
    if not text.strip():
        return
    for index, character in enumerate(text + ","):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            part = text[start:index].strip()
            if not part:
                raise MalformedDeclaration(text)
            yield part
            start = index + 1
    if depth:
        raise MalformedDeclaration(text)


def _value(type_: str, value: object) -> Value:
    if isinstance(value, list | tuple):
        if type_.endswith(")"):
            return tuple(map(_value, split(type_[1:-1]), value))
        element = type_.rpartition("[")[0]
        return tuple(_value(element, item) for item in value)
    if type_ == "address":
        return checksum_address(Address(bytes.fromhex(str(value).removeprefix("0x"))))
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace") if type_ == "string" else "0x" + value.hex()
    assert isinstance(value, int)
    return value


def text_of(value: Value) -> str:
    """Return a value in readable form: numbers in decimal, arrays in brackets."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(text_of, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
