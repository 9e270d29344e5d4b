"""Staking terms as given by callers of the keystore's methods (pchain.md 8.3)."""

import struct

from platform_app.config import PlatformConfig
from platform_app.wallet.errors import WalletError, WalletReason


def verify_start(start: int, *, now: int, config: PlatformConfig) -> None:
    """Check the requested start of staking, in Unix seconds; 0 means immediately.

    Unspecified: the reference requires a start at least 20 seconds ahead, because its transactions became
    void once the start had passed. That does not happen here, but a requested start should not be moved. If
    starts are ignored (`PlatformConfig.durango`), any start is accepted.

    Raises:
        WalletError: It is less than twice the synchrony bound ahead; it is later than the
            network allows.
    """
    if start == 0 or config.durango:
        return
    ahead = 2 * config.synchrony_bound
    if start < now + ahead:
        raise WalletError(WalletReason.START_TOO_SOON, seconds=ahead)
    if start > now + config.max_start_ahead:
        raise WalletError(WalletReason.START_TOO_FAR)


def shares_of(rate: float) -> int:
    """Convert a delegation fee in percent to millionths, with the reference's 32-bit arithmetic.

    Raises:
        WalletError: It is not a percentage.
    """
    if not 0 <= rate <= 100:
        raise WalletError(WalletReason.RATE_OUT_OF_RANGE)
    return int(float32(10_000 * float32(rate)))


def float32(number: float) -> float:
    """Return the nearest 32-bit floating-point number."""
    (rounded,) = struct.unpack("f", struct.pack("f", number))
    return float(rounded)
