"""console.log: calls to an address without code, by which contracts write to the log. Pure."""

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

_MAX_ARGUMENTS: Final = 4
_ALONE: Final = ("int256", "bytes", *(f"bytes{size}" for size in range(1, 33)))
"""Types that only occur as the single argument, except for a string together with an int256."""

_PRINT: Final = ("string", "bytes")
"""Arguments of the call by Vyper's print: the types of the values, and their encoding."""

_ELEMENT: Final = (
    r"(?:u?int[0-9]{1,3}|bool|address|bytes[0-9]{1,2})(?:\[[0-9]{0,3}\])?|string|bytes"
)
_SCHEMA: Final = re.compile(rf"\((?:{_ELEMENT})(?:,(?:{_ELEMENT})){{0,15}}\)")
"""Types that are decoded for print. Arrays of strings are excluded: a few bytes could encode many strings."""


def _overloads() -> Iterator[tuple[str, ...]]:
    """Yield the argument types of each existing function."""
    for count in range(_MAX_ARGUMENTS + 1):
        yield from product(("string", "uint256", "bool", "address"), repeat=count)
    yield from ((item,) for item in _ALONE)
    yield ("string", "int256")
    yield _PRINT


def _table() -> Iterator[tuple[bytes, tuple[str, ...]]]:
    """Yield each function's selector and types, also with the spelling of types in old libraries."""
    for types in _overloads():
        signature = f"log({','.join(types)})"
        yield selector_of(signature), types
        yield selector_of(signature.replace("int256", "int")), types


_TYPES: Final = MappingProxyType(dict(_table()))
"""The types of the arguments by selector."""


def message_of(call_data: bytes) -> str | None:
    """Return the text of a call to `CONSOLE`; None for an unknown function or a malformed encoding.

    Unspecified: the values of Vyper's print are separated by blanks, and only elementary types and
    arrays of them are shown.
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
        Undecodable: Their types cannot be read, or their encoding is malformed.
    """
    if not _SCHEMA.fullmatch(schema):
        raise Undecodable
    return decode(schema[1:-1].split(","), bytes.fromhex(payload.removeprefix("0x")))


def messages_of(frames: Sequence[Frame]) -> Iterator[str]:
    """Yield the messages of a transaction or call in order of execution, including those of reverted frames."""
    for frame in frames:
        if frame.to == CONSOLE:
            message = message_of(frame.input)
            if message is not None:
                yield message


class WatchedState:
    """A state that records whether `CONSOLE` was read: every call reads its callee's account.

    Args:
        state: The state to read from.
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
        """The state's memory, but `CONSOLE` is read through `account`."""

    def account(self, address: Address) -> AccountState | None:
        """Return the account, or None if it does not exist."""
        if address == CONSOLE:
            self.console_was_called = True
        return self._account(address)
