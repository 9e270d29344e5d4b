"""Terms of staking as callers of the keystore's methods name them (pchain.md 8.3)."""

import struct

from platform_app.config import PlatformConfig
from platform_app.wallet.errors import RateOutOfRange, StartTooFar, StartTooSoon


def verify_start(start: int, *, now: int, config: PlatformConfig) -> None:
    """Check when somebody wants to begin to stake, in Unix seconds; 0 is at once.

    Unspecified: the reference's rule that a start lies 20 seconds ahead was made for transactions that
    are void once it has passed. None is here, but who names a start shall not find it moved. Where starts
    are not looked at (`PlatformConfig.durango`), any will do.

    Raises:
        StartTooSoon: Before twice the synchrony bound has passed.
        StartTooFar: Later than the network allows.
    """
    if start == 0 or config.durango:
        return
    ahead = 2 * config.synchrony_bound
    if start < now + ahead:
        raise StartTooSoon(ahead)
    if start > now + config.max_start_ahead:
        raise StartTooFar


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
