"""The base fee of EVM chains of subnets, which follows the gas of the last ten seconds.

Each header begins its extra data with a window: ten numbers of 64 bits, the gas used in each of the last ten seconds,
oldest first (etna.md 12.4).
"""

from typing import Final

from cchain_app.precompiles.fee_config import FeeConfig
from primitives import uint64

SECONDS: Final = 10
"""Seconds of a window."""
WINDOW_SIZE: Final = 8 * SECONDS
"""Bytes of a window."""
EMPTY_WINDOW: Final = bytes(WINDOW_SIZE)


def next_window(window: bytes, gas_used: int, seconds: int) -> bytes:
    """Return the window of the block after one with this window.

    Args:
        window: That of the parent.
        gas_used: The parent's gas used; that of block 0 does not count.
        seconds: The time from the parent to the block.
    """
    places = [int.from_bytes(window[place : place + 8]) for place in range(0, WINDOW_SIZE, 8)]
    places[-1] = min(places[-1] + gas_used, uint64.MAX)
    shifted = (places + [0] * min(seconds, SECONDS))[-SECONDS:]
    return b"".join(place.to_bytes(8) for place in shifted)


def next_base_fee(fees: FeeConfig, base_fee: int, window: bytes, seconds: int) -> int:
    """Return the base fee of the block with a window, in wei.

    Args:
        fees: The figures of the chain.
        base_fee: The parent's.
        window: The block's own.
        seconds: The time from the parent to the block.
    """
    used = sum(int.from_bytes(window[place : place + 8]) for place in range(0, WINDOW_SIZE, 8))
    target = fees.target_gas
    if used == target:
        return base_fee
    change = max(1, base_fee * abs(used - target) // target // fees.base_fee_change_denominator)
    if used > target:
        return max(base_fee + change, fees.min_base_fee)
    if seconds > SECONDS:
        change *= seconds // SECONDS
    return max(base_fee - change, fees.min_base_fee)
