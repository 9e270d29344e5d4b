"""Durations and JSON objects as Go reads them.

Durations: `5s`, `1m30s`, `1.5h`, `-300ms`. JSON objects are read as encoding/json reads them into structs: names of
members match regardless of case, unknown members are ignored, and a null member counts as absent.
"""

import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from primitives.hexadecimal import HexError, decode_quantity

_UNITS: Final = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "\u03bcs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
}
_PART: Final = re.compile(r"([0-9]*(?:\.[0-9]*)?)([^0-9.]*)")
_MAX_SECONDS: Final = (2**63 - 1) / 1e9
"""Go counts nanoseconds in 63 bits."""


class InvalidDuration(Exception):
    """A text that is not a duration in Go."""


def parse_duration(text: str) -> float:
    """Return the seconds of a duration, which may be negative.

    Raises:
        InvalidDuration: The text is not a duration; the message is Go's.
    """
    digits = text[1:] if text[:1] in {"-", "+"} else text
    if digits == "0":
        return 0.0
    seconds, offset = 0.0, 0
    while offset < len(digits):
        part = _PART.match(digits, offset)
        if part is None or part[1] in {"", "."}:
            raise InvalidDuration(f"time: invalid duration {_quoted(text)}")
        seconds += float(part[1]) * _unit(part[2], text)
        offset = part.end()
    if not digits or seconds > _MAX_SECONDS:
        raise InvalidDuration(f"time: invalid duration {_quoted(text)}")
    return -seconds if text[0] == "-" else seconds


def _unit(name: str, text: str) -> float:
    if not name:
        raise InvalidDuration(f"time: missing unit in duration {_quoted(text)}")
    unit = _UNITS.get(name)
    if unit is None:
        raise InvalidDuration(f"time: unknown unit {_quoted(name)} in duration {_quoted(text)}")
    return unit


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()


class GoStruct:
    """The members of a JSON object, read as Go reads them into a struct. Errors have Go's messages."""

    def __init__(
        self, value: object, struct: str, type_name: str, error: Callable[[str], Exception]
    ) -> None:
        self._struct = struct
        self._error = error
        if not isinstance(value, dict):
            raise error(
                f"json: cannot unmarshal {kind_of(value)} into Go value of type {type_name}"
            )
        self._given: dict[str, Any] = {str(name).lower(): member for name, member in value.items()}

    def anything(self, name: str) -> object:
        """Return a member as it is, None if it is absent."""
        return self._given.get(name.lower())

    def flag(self, name: str) -> bool:
        """Return a boolean member, false if it is absent."""
        value = self.anything(name)
        if value is None:
            return False
        if not isinstance(value, bool):
            raise self._unreadable(kind_of(value), name, "bool")
        return value

    def text(self, name: str) -> str | None:
        """Return a string member, None if it is absent."""
        value = self.anything(name)
        if value is not None and not isinstance(value, str):
            raise self._unreadable(kind_of(value), name, "string")
        return value

    def number(self, name: str, type_name: str = "uint64") -> int:
        """Return an integer member, 0 if it is absent.

        Unspecified: negative numbers are rejected.
        """
        value = self.anything(name)
        if value is None:
            return 0
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._unreadable(kind_of(value), name, type_name)
        if isinstance(value, float) or not 0 <= value < 2**63:
            raise self._unreadable(f"number {value}", name, type_name)
        return value

    def quantities(self, name: str) -> list[int] | None:
        """Return a member that is an array of quantities, None if it is absent."""
        value = self.anything(name)
        if value is None:
            return None
        if not isinstance(value, list):
            raise self._unreadable(kind_of(value), name, "[]hexutil.Uint64")
        return [self._quantity(element, name) for element in value]

    def _quantity(self, value: object, name: str) -> int:
        if not isinstance(value, str):
            raise self._unreadable("non-string", name, "hexutil.Uint64")
        try:
            return decode_quantity(value, bits=64) if value else 0
        except HexError as error:
            raise self._unreadable(str(error), name, "hexutil.Uint64") from error

    def _unreadable(self, kind: str, name: str, type_name: str) -> Exception:
        return self._error(
            f"json: cannot unmarshal {kind} into Go struct field {self._struct}.{name} "
            f"of type {type_name}"
        )


def kind_of(value: object) -> str:
    """Return Go's name for the type of a JSON value."""
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case int() | float():
            return "number"
        case dict():
            return "object"
        case _:
            return "array"
