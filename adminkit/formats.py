"""Amounts, times and long identifiers as text. The HTML around them is in `display`."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_SECOND = 253_402_300_799
"""The end of the year 9999, the last time that a `datetime` can represent."""

_MAX_DECIMALS = 6
_LEAST = "0.000001"
_SHORT = 16
"""Texts of up to this many characters are shown in full."""


def format_units(amount: int, unit: int) -> str:
    """Return an exact amount in units of a power of ten: 1,500.25."""
    whole, rest = divmod(amount, unit)
    decimals = str(rest).zfill(len(str(unit)) - 1).rstrip("0") if rest else ""
    return f"{whole:,}{'.' if decimals else ''}{decimals}"


def cut_decimals(number: str) -> str:
    """Return a decimal number for lists: at most six decimals, truncated; `<0.000001` for less, except 0."""
    whole, _, decimals = number.partition(".")
    shown = decimals[:_MAX_DECIMALS].rstrip("0")
    if whole == "0" and decimals and not shown:
        return f"<{_LEAST}"
    return f"{whole}{'.' if shown else ''}{shown}"


def format_whole(amount: int, unit: int) -> str:
    """Return an amount in whole units, truncated; an amount below one unit as in lists."""
    return f"{amount // unit:,}" if amount >= unit else cut_decimals(format_units(amount, unit))


def format_time(seconds: int) -> str:
    """Return Unix seconds as date and time in UTC; unchanged after the year 9999."""
    if not 0 <= seconds <= _LAST_SECOND:
        return f"{seconds} s"
    return f"{_EPOCH + timedelta(seconds=seconds):%Y-%m-%d %H:%M:%S} UTC"


def format_date(seconds: int) -> str:
    """Return the UTC date of Unix seconds; the seconds unchanged after the year 9999."""
    return format_time(seconds).split(" ")[0] if 0 <= seconds <= _LAST_SECOND else f"{seconds} s"


def format_iso(seconds: int) -> str:
    """Return Unix seconds as an ISO 8601 time; unchanged after the year 9999."""
    if not 0 <= seconds <= _LAST_SECOND:
        return str(seconds)
    return f"{_EPOCH + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}"


def format_age(seconds: int) -> str:
    """Return a duration in its largest unit: 3 min."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{max(seconds, 0)} s"


def format_duration(seconds: int) -> str:
    """Return an exact duration: 2 d, 1 h 30 min."""
    parts, rest = [], seconds
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")):
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count:,} {unit}")
    return " ".join(parts) or "0 s"


def percent(part: int, whole: int) -> int:
    """Return a share in whole percent, rounded down; 0 if the whole is 0."""
    return 100 * part // whole if whole else 0


def format_percent(part: float, whole: float) -> str:
    """Return a share in percent with at most one decimal: 12.5 %; `<0.1 %` for less, except 0; 0 % if the whole is 0."""
    share = 100 * part / whole if whole else 0.0
    shown = f"{share:.1f}".removesuffix(".0")
    return f"{'<0.1' if share and shown == '0' else shown} %"


def shorten(text: str, *, keep: int = 8) -> str:
    """Return a long text without its middle: the first `keep` characters and the last four."""
    return text if len(text) <= max(_SHORT, keep + 5) else f"{text[:keep]}…{text[-4:]}"
