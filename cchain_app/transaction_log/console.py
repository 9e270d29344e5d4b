"""console.log: calls of an address without code by which contracts write to the log. Pure."""

import re
from collections.abc import Iterator, Sequence
from itertools import product
from types import MappingProxyType
from typing import Final

from cchain_app.evm.engine import AccountState, NativeMemory, StateReader
from cchain_app.evm.tracing import Frame
from cchain_app.transaction_log.abi import (
    SELECTOR_BYTES,
    Value,
    decode,
    selector_of,
    text_of,
)
from cchain_app.transaction_log.errors import Undecodable
from cchain_app.transaction_log.formatting import format_message
from primitives.evm import Address

CONSOLE: Final = Address(b"console.log".rjust(20, b"\0"))

_MOST_ARGUMENTS: Final = 4
_ALONE: Final = ("int256", "bytes", *(f"bytes{size}" for size in range(1, 33)))
"""Types of which there is one argument only, but for a text and an int256 together."""

_PRINT: Final = ("string", "bytes")
"""What Vyper's print calls: the types of the values, and their encoding."""

_ELEMENT: Final = (
    r"(?:u?int[0-9]{1,3}|bool|address|bytes[0-9]{1,2})(?:\[[0-9]{0,3}\])?|string|bytes"
)
_SCHEMA: Final = re.compile(rf"\((?:{_ELEMENT})(?:,(?:{_ELEMENT})){{0,15}}\)")
"""Types that are decoded for print. Arrays of texts are none: a few bytes could stand for many texts."""


def _overloads() -> Iterator[tuple[str, ...]]:
    """Yield the types of each function there is."""
    for count in range(_MOST_ARGUMENTS + 1):
        yield from product(("string", "uint256", "bool", "address"), repeat=count)
    yield from ((one,) for one in _ALONE)
    yield ("string", "int256")
    yield _PRINT


def _table() -> Iterator[tuple[bytes, tuple[str, ...]]]:
    """Yield each function's selector and types; as old libraries spelled its types, too."""
    for types in _overloads():
        signature = f"log({','.join(types)})"
        yield selector_of(signature), types
        yield selector_of(signature.replace("int256", "int")), types


_TYPES: Final = MappingProxyType(dict(_table()))
"""The types of the arguments by selector."""


def message_of(call_data: bytes) -> str | None:
    """Return the text of a call of `CONSOLE`; None where nobody knows the function, or it is not encoded so.

    Unspecified: of Vyper's print the values stand beside each other with blanks, and types other than
    elementary ones and arrays of them show nothing.
    """
    types = _TYPES.get(call_data[:SELECTOR_BYTES])
    if types is None:
        return None
    try:
        values = decode(types, call_data[SELECTOR_BYTES:])
        if types == _PRINT:
            values = _printed(*map(str, values))
            return " ".join(map(text_of, values))
    except Undecodable:
        return None
    return format_message(values)


def _printed(schema: str, payload: str) -> tuple[Value, ...]:
    """Return the values that Vyper's print shows.

    Raises:
        Undecodable: Their types cannot be read, or they are not encoded so.
    """
    if not _SCHEMA.fullmatch(schema):
        raise Undecodable
    return decode(schema[1:-1].split(","), bytes.fromhex(payload.removeprefix("0x")))


def messages_of(frames: Sequence[Frame]) -> Iterator[str]:
    """Yield the messages of a transaction or call in the order of their execution, undone ones too."""
    for frame in frames:
        if frame.to == CONSOLE:
            message = message_of(frame.input)
            if message is not None:
                yield message


class WatchedState:
    """A state that notices whether `CONSOLE` was looked at: no call reaches an account without that.

    Args:
        state: What it shows.
    """

    def __init__(self, state: StateReader) -> None:
        self._account = state.account
        self.storage = state.storage
        self.has_storage = state.has_storage
        self.code = state.code
        self.block_hash = state.block_hash
        self.console_was_called = False
        found: NativeMemory | None = getattr(state, "memory", None)
        self.memory = None if found is None else (*found[:2], CONSOLE)
        """Of the state, but for what is watched."""

    def account(self, address: Address) -> AccountState | None:
        """Return the account, or None when it does not exist."""
        if address == CONSOLE:
            self.console_was_called = True
        return self._account(address)
