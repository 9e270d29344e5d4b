"""Durations and times in Go's format, which clients of the reference parse. Pure."""

from datetime import UTC, datetime
from typing import Final

MICROSECOND: Final = 1_000
MILLISECOND: Final = 1_000_000
SECOND: Final = 1_000_000_000
"""In nanoseconds, like all numbers in this module."""

ZERO_TIME: Final = "0001-01-01T00:00:00Z"
"""Go's zero time: nothing has happened yet."""

_MINUTE: Final = 60 * SECOND
_HOUR: Final = 60 * _MINUTE


def duration_text(nanoseconds: int) -> str:
    """Return a non-negative duration as text: `1h0m0s`, `1m2.5s`, `300ms`, `0s`."""
    if nanoseconds < SECOND:
        return _below_a_second(nanoseconds)
    hours, remainder = divmod(nanoseconds, _HOUR)
    minutes, remainder = divmod(remainder, _MINUTE)
    text = f"{_decimal(remainder, SECOND)}s"
    if hours or minutes:
        text = f"{minutes}m{text}"
    return f"{hours}h{text}" if hours else text


def seconds_text(seconds: float) -> str:
    """Return a duration given in seconds as text, rounded to microseconds; a negative duration becomes `0s`."""
    return duration_text(max(0, round(seconds * 1_000_000)) * MICROSECOND)


def time_text(nanoseconds: int) -> str:
    """Return a Unix time in RFC 3339 format, in UTC, without trailing zeros in the fraction of a second."""
    seconds, fraction = divmod(nanoseconds, SECOND)
    text = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"
    digits = f"{fraction:09d}".rstrip("0")
    return f"{text}.{digits}Z" if digits else f"{text}Z"


def moment_text(moment: datetime) -> str:
    """Return a time with a time zone in the format of `time_text`."""
    at = moment.astimezone(UTC)
    seconds = round(at.replace(microsecond=0).timestamp())
    return time_text(seconds * SECOND + at.microsecond * MICROSECOND)


def _below_a_second(nanoseconds: int) -> str:
    if nanoseconds == 0:
        return "0s"
    for size, unit in ((MILLISECOND, "ms"), (MICROSECOND, "µs")):
        if nanoseconds >= size:
            return f"{_decimal(nanoseconds, size)}{unit}"
    return f"{nanoseconds}ns"


def _decimal(amount: int, unit: int) -> str:
    """Return an amount in units, without trailing zeros."""
    whole, rest = divmod(amount, unit)
    digits = f"{rest:0{len(str(unit)) - 1}d}".rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)
