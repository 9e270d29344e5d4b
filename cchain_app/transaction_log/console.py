"""console.log: calls to an address without code, by which contracts write to the log. Pure.

A message is formatted from a text with placeholders and values, like Node's util.format. The placeholders are
`%s %d %i %f %j %o %O %c %%` and, as in Foundry, `%x`. Integers are exact whatever their size, without the `n` that
JavaScript writes after large ones.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from types import MappingProxyType
from typing import Final

from cchain_app.evm.engine import AccountState, NativeMemory, StateReader
from cchain_app.evm.tracing import Frame
from cchain_app.transaction_log.abi import SELECTOR_BYTES, Value, decode, selector_of, text_of
from cchain_app.transaction_log.errors import Undecodable
from primitives.evm import Address

_PLACE: Final = re.compile(r"%[sdifjoOcx%]")

_PREFIXED: Final = re.compile(r"0(?:[xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)")
_INTEGER: Final = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|(?!0[xX])\d+)", re.ASCII)
_FLOAT: Final = re.compile(r"[+-]?(?:Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)", re.ASCII)

_BLANKS: Final = " \t\n\v\f\r\u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)
"""Characters that JavaScript skips before a number."""

_ESCAPES: Final = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", "\\": "\\\\"}
_MAX_DIGITS: Final = 21
"""Digits before the point; JavaScript writes larger numbers with an exponent."""
_MAX_ZEROS: Final = 5
"""Zeros after the point, before the first other digit; smaller numbers have an exponent, too."""


def format_message(values: Sequence[Value]) -> str:
    """Return the text of a message; without values it is empty.

    Unspecified: `%x` shows an integer in hex, as in Foundry, and anything else like `%s`; Node has no
    `%x`. `%j` and `%o` show the decimal digits of an integer.
    """
    if not values:
        return ""
    first, *rest = values
    if isinstance(first, str) and rest:
        first = _fill(first, rest)
    return " ".join(map(text_of, (first, *rest)))


def _fill(text: str, rest: list[Value]) -> str:
    """Replace a text's placeholders by values; used values are removed from the list."""

    def one(match: re.Match[str]) -> str:
        placeholder = match[0]
        if placeholder == "%%":
            return "%"
        return _FORMS[placeholder](rest.pop(0)) if rest else placeholder

    return _PLACE.sub(one, text)


def _number(value: Value) -> str:
    """Return a value as `%d` shows it: JavaScript's Number() of a string."""
    if not isinstance(value, str):
        return "NaN" if isinstance(value, tuple) else str(int(value))
    text = value.strip(_BLANKS)
    if not text:
        return "0"
    if _PREFIXED.fullmatch(text):
        return _shown(_double(int(text, 0)))
    return _shown(float(text)) if _FLOAT.fullmatch(text) else "NaN"


def _integer(value: Value) -> str:
    """Return a value as `%i` shows it: JavaScript's parseInt()."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    match = _INTEGER.match(text_of(value).lstrip(_BLANKS))
    if match is None:
        return "NaN"
    digits = match[0]
    is_hex = "x" in digits.lower()
    number = _double(int(digits, 16)) if is_hex else float(digits)
    return _shown(math.copysign(number, -1.0 if digits.startswith("-") else 1.0))


def _float(value: Value) -> str:
    """Return a value as `%f` shows it: JavaScript's parseFloat()."""
    match = _FLOAT.match(text_of(value).lstrip(_BLANKS))
    return "NaN" if match is None else _shown(float(match[0]))


def _hexadecimal(value: Value) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return hex(value)
    return text_of(value)


def _json(value: Value) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _inspected(value: Value) -> str:
    """Return a value as `%o` shows it: a string in the quotes that need the fewest escapes."""
    if not isinstance(value, str):
        return text_of(value)
    quote = "'"
    if "'" in value:
        quote = next((item for item in ('"', "`") if item not in value and "${" not in value), "'")
    return quote + "".join(_escaped(character, quote) for character in value) + quote


def _escaped(character: str, quote: str) -> str:
    if character == quote:
        return "\\" + character
    if character in _ESCAPES:
        return _ESCAPES[character]
    code = ord(character)
    return f"\\x{code:02X}" if code < 0x20 or 0x7F <= code < 0xA0 else character


def _double(number: int) -> float:
    """Return the double that is nearest to an integer."""
    try:
        return float(number)
    except OverflowError:
        return math.copysign(math.inf, number)


def _shown(number: float) -> str:
    """Return a double as JavaScript writes it."""
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else f"{'-' if number < 0 else ''}Infinity"
    if not number:
        return "-0" if math.copysign(1, number) < 0 else "0"
    mantissa, _, power = repr(abs(number)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    exponent = int(power or 0) + len(whole)
    digits = (whole + fraction).lstrip("0")
    exponent -= len(whole + fraction) - len(digits)
    digits = digits.rstrip("0")
    return ("-" if number < 0 else "") + _placed(digits, exponent)


def _placed(digits: str, exponent: int) -> str:
    """Write 0.DIGITS times ten to the power of an exponent."""
    if len(digits) <= exponent <= _MAX_DIGITS:
        return digits.ljust(exponent, "0")
    if 0 < exponent <= _MAX_DIGITS:
        return f"{digits[:exponent]}.{digits[exponent:]}"
    if -_MAX_ZEROS <= exponent <= 0:
        return f"0.{'0' * -exponent}{digits}"
    mantissa = digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{mantissa}e{exponent - 1:+d}"


_FORMS: Final[dict[str, Callable[[Value], str]]] = {
    "%s": text_of,
    "%d": _number,
    "%i": _integer,
    "%f": _float,
    "%x": _hexadecimal,
    "%j": _json,
    "%o": _inspected,
    "%O": _inspected,
    "%c": lambda _value: "",
}


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
