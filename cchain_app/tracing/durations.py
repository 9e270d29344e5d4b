"""Durations in Go's format: `5s`, `1m30s`, `1.5h`, `-300ms`."""

import re
from typing import Final

import msgspec

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
    seconds, place = 0.0, 0
    while place < len(digits):
        part = _PART.match(digits, place)
        if part is None or part[1] in {"", "."}:
            raise InvalidDuration(f"time: invalid duration {_quoted(text)}")
        seconds += float(part[1]) * _unit(part[2], text)
        place = part.end()
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
