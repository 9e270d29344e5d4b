"""How the reference implementation writes times in messages."""

from datetime import UTC, datetime


def moment(seconds: int) -> str:
    """Write a time as the reference does; beyond the calendar as a number of seconds."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} +0000 UTC"
    except (ValueError, OverflowError, OSError):
        return str(seconds)
