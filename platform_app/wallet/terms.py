"""Terms of staking as callers of the keystore's methods name them (pchain.md 8.3)."""

import struct

from platform_app.config import PlatformConfig
from platform_app.wallet.errors import RateOutOfRange, StartTooFar, StartTooSoon


def start_of(start: int, *, now: int, config: PlatformConfig) -> int:
    """Return when somebody begins to stake, in Unix seconds; 0 is as soon as these methods allow.

    Raises:
        StartTooSoon: Before twice the synchrony bound has passed.
        StartTooFar: Later than the network allows.
    """
    ahead = 2 * config.synchrony_bound
    start = start or now + ahead
    if start < now + ahead:
        raise StartTooSoon(ahead)
    if start > now + config.max_start_ahead:
        raise StartTooFar
    return start


def shares_of(rate: float) -> int:
    """Return a delegation fee in percent as millionths, by the reference's arithmetic of 32 bits.

    Raises:
        RateOutOfRange: It is no percentage.
    """
    if not 0 <= rate <= 100:
        raise RateOutOfRange
    return int(float32(10_000 * float32(rate)))


def float32(number: float) -> float:
    """Return the nearest number that a float of 32 bits can hold."""
    (rounded,) = struct.unpack("f", struct.pack("f", number))
    return float(rounded)
