"""How the admin writes sizes, rates and moments of the network as text; the rest is `adminkit.formats`."""

from datetime import datetime

from adminkit.formats import format_age

CHAINS = {"P": "P-Chain", "C": "C-Chain"}

_STEP = 1024
_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB")


def format_bytes(count: int) -> str:
    """Return a number of bytes as a person reads it: 12.3 MiB."""
    if count < _STEP:
        return f"{count} byte{'' if count == 1 else 's'}"
    size = float(count)
    for unit in _UNITS:
        size /= _STEP
        if size < _STEP or unit == _UNITS[-1]:
            break
    return f"{size:,.1f} {unit}"


def format_rate(blocks_per_second: float | None) -> str | None:
    """Return a rate: 1,234.5 blocks/s; None before the first measurement."""
    return None if blocks_per_second is None else f"{blocks_per_second:,.1f} blocks/s"


def format_left(seconds: float | None) -> str:
    """Return how long something still takes."""
    return "time unknown" if seconds is None else f"{format_age(int(seconds))} left"


def format_share(fraction: float) -> str:
    """Return a part of one as percent with a decimal, cut off: 99.9 % is not all."""
    tenths = int(fraction * 1_000)
    return f"{tenths // 10}.{tenths % 10} %"


def format_known(count: int) -> str:
    """Return how many addresses this node keeps: not those of peers that are just connected."""
    kept = f"{count:,} address{'' if count == 1 else 'es'} known"
    return f"{kept} of validators and bootstrappers"


def age_of(moment: datetime, now: datetime) -> str:
    """Return how long ago something was: 3 min ago."""
    return f"{format_age(int((now - moment).total_seconds()))} ago"
