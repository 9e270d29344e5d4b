"""The JSON of a trace while it is written: parts that are joined at the end, with a limit on their size.

`Deadline` is the time limit of several traces together.
"""

import time
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from cchain_app.evm.tracing import UNBOUNDED, TraceTimedOut, TraceTooLarge

_encode: Final = msgspec.json.Encoder().encode

Members = Mapping[str, Any]


class TraceWriter:
    """An answer that is being written."""

    def __init__(self, most_bytes: int = UNBOUNDED) -> None:
        self._left = most_bytes
        self._parts: list[bytes] = []

    def write(self, part: bytes) -> None:
        """Add JSON text as it is.

        Raises:
            TraceTooLarge: The answer is too long.
        """
        self._left -= len(part)
        if self._left < 0:
            raise TraceTooLarge("response too large")
        self._parts.append(part)

    def write_value(self, value: object) -> None:
        """Add a value as JSON. Raises as `write`."""
        self.write(_encode(value))

    def joined(self) -> bytes:
        """Return the whole answer."""
        return b"".join(self._parts)


def members(values: Members) -> bytes:
    """Return the members of an object without its braces; members that are None are left out."""
    return _encode({name: value for name, value in values.items() if value is not None})[1:-1]


def data(value: bytes) -> str:
    """Return the hexadecimal text of a byte string, an address or a hash."""
    return "0x" + value.hex()


def data_or_none(value: bytes | None) -> str | None:
    """Return the hexadecimal text of a byte string, None if it is None or empty."""
    return data(value) if value else None


class Deadline:
    """A deadline a number of seconds after its creation."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Return the seconds that are left, always more than 0.

        Raises:
            TraceTimedOut: The deadline has passed.
        """
        left = self._end - time.monotonic()
        if left <= 0:
            raise TraceTimedOut("execution timeout")
        return left
