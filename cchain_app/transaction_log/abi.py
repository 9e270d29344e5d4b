"""ABI-encoded arguments as values that can be shown. Pure.

Who encoded the bytes is a contract, which may mean harm, so what is decoded is bounded (`bounded_abi`), and texts
are read whatever bytes they have.
"""

from collections.abc import Sequence
from typing import Final

from primitives.evm import Address
from primitives.hashing import keccak256
from primitives.hexadecimal import checksum_address

MOST_BYTES: Final = 1_000_000
"""Of arguments that are decoded."""

SELECTOR_BYTES: Final = 4

Value = str | int | bool | tuple["Value", ...]
"""A decoded argument. Addresses are texts as EIP-55 writes them, bytes are texts in hex; an array is a tuple."""


def selector_of(signature: str) -> bytes:
    """Return the four bytes by which a function or an error of this signature is known."""
    return keccak256(signature.encode())[:SELECTOR_BYTES]


def decode(types: Sequence[str], data: bytes) -> tuple[Value, ...]:
    """Read arguments.

    Args:
        types: Elementary ones and arrays of such.
        data: The encoding, without a selector.

    Raises:
        Undecodable: It is none of such arguments, longer than `MOST_BYTES`, or some of it is shared too often.
    """
    # Only here: it takes a fifth of a second to import, and most chains never log.
    from cchain_app.transaction_log import bounded_abi

    found = bounded_abi.decode(types, data, most=MOST_BYTES)
    return tuple(_value(type_, value) for type_, value in zip(types, found, strict=True))


def _value(type_: str, value: object) -> Value:
    if isinstance(value, list | tuple):
        element = type_.rpartition("[")[0]
        return tuple(_value(element, one) for one in value)
    if type_ == "address":
        return checksum_address(Address(bytes.fromhex(str(value).removeprefix("0x"))))
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace") if type_ == "string" else "0x" + value.hex()
    assert isinstance(value, int)
    return value


def text_of(value: Value) -> str:
    """Return a value as people read it: numbers in decimal, arrays in brackets."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(text_of, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
