"""How the admin writes amounts, times and long hex as text. HTML around it is in `display`."""

from datetime import UTC, datetime, timedelta

_UNITS = ((10**14, 10**18, "coins"), (10**5, 10**9, "Gwei"), (0, 1, "wei"))
"""From how many wei on an amount is written in a unit, the unit's size in wei, and its name."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_SECOND = 253_402_300_799
"""The end of the year 9999, after which a `datetime` has no words."""

TRANSACTION_TYPES = ("legacy", "access list", "dynamic fee", "blob", "set code")
"""Names of the transaction types by their numbers (EIP-2718)."""


def format_wei(wei: int) -> str:
    """Return an amount, exact, in coins, Gwei or wei, whichever reads best: 1,500.25 coins."""
    if wei == 0:
        return "0"
    size, unit = next((size, unit) for least, size, unit in _UNITS if wei >= least)
    whole, rest = divmod(wei, size)
    decimals = str(rest).zfill(len(str(size)) - 1).rstrip("0") if rest else ""
    return _with_unit(f"{whole:,}{'.' if decimals else ''}{decimals}", unit)


def round_wei(wei: int) -> str:
    """Return an amount as a list shows it: at most six decimals, cut off."""
    number, _, unit = format_wei(wei).partition(" ")
    whole, _, decimals = number.partition(".")
    shown = decimals[:6].rstrip("0")
    return _with_unit(f"{whole}{'.' if shown else ''}{shown}", unit)


def _with_unit(number: str, unit: str) -> str:
    return f"{number} {unit.removesuffix('s') if number == '1' else unit}".rstrip()


def format_time(seconds: int) -> str:
    """Return Unix seconds as date and time in UTC; as they are beyond the year 9999."""
    if not 0 <= seconds <= _LAST_SECOND:
        return f"{seconds} s"
    return f"{_EPOCH + timedelta(seconds=seconds):%Y-%m-%d %H:%M:%S} UTC"


def format_age(seconds: int) -> str:
    """Return how long ago something was, in its largest unit: 3 min."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{max(seconds, 0)} s"


def percent(part: int, whole: int) -> int:
    """Return a share in whole percent, rounded down; 0 of nothing."""
    return 100 * part // whole if whole else 0


def shorten(text: str) -> str:
    """Return a 0x text with its middle left out when it is longer than 16 characters."""
    return text if len(text) <= 16 else f"{text[:8]}…{text[-4:]}"


def format_type(number: int) -> str:
    """Return a transaction type's name and number."""
    name = TRANSACTION_TYPES[number] if number < len(TRANSACTION_TYPES) else "unknown"
    return f"{name} ({number})"
