"""Base fee and cost of a block before Fortuna: the gas of the last ten seconds decides (coreth.md 15).

From Apricot phase 3 on a header's extra data begins with a window: the gas that was used in each of the ten seconds up to
its block, without the block's own. A fee belongs to the phase of the parent where the reference takes it from there.
"""

from collections.abc import Iterable
from typing import Final

from cchain_app.blocks.errors import BlockRefused
from cchain_app.rules.coreth.errors import CorethReason
from cchain_app.rules.coreth.header import CorethHeader
from cchain_app.rules.coreth.phases import CorethPhase, phase_at
from primitives import uint64
from primitives.upgrades import UpgradeTimes

WINDOW_SECONDS: Final = 10
WINDOW_SIZE: Final = 8 * WINDOW_SECONDS
"""Bytes of a window."""

_GWEI: Final = 10**9
FIRST_BASE_FEE: Final = 225 * _GWEI
_UNLIMITED: Final = 2**256 - 1
_BOUNDS: Final = (
    (CorethPhase.ETNA, 1 * _GWEI, _UNLIMITED),
    (CorethPhase.APRICOT_5, 25 * _GWEI, _UNLIMITED),
    (CorethPhase.APRICOT_4, 25 * _GWEI, 1_000 * _GWEI),
    (CorethPhase.LAUNCH, 75 * _GWEI, 225 * _GWEI),
)
"""The least and the highest base fee since a phase of the parent, in wei; newest first."""
_OLD_TARGET: Final = 10_000_000
_TARGET: Final = 15_000_000
"""Gas in a window at which the base fee does not move, before Apricot phase 5 and since."""
_OLD_DIVISOR: Final = 12
_DIVISOR: Final = 36
_INTRINSIC_BLOCK_GAS: Final = 1_000_000
"""Gas that each block of Apricot phase 3 counts in the window besides its own."""
OLD_COST_STEP: Final = 50_000
COST_STEP: Final = 200_000
"""Change of a block's cost for each second, before Apricot phase 5 and since."""
_TARGET_SECONDS: Final = 2
"""Seconds between blocks at which the cost does not change."""
_MAX_COST: Final = 1_000_000

Window = tuple[int, ...]
"""Gas in each of ten seconds, oldest first."""

_EMPTY: Final[Window] = (0,) * WINDOW_SECONDS


def encode_window(window: Window) -> bytes:
    """Return a window's bytes."""
    return b"".join(gas.to_bytes(8, "big") for gas in window)


def window_before(parent: CorethHeader, timestamp: int, upgrades: UpgradeTimes) -> Window:
    """Return the window with which the block after `parent` begins, which is in Apricot phase 3 or later.

    Args:
        parent: The block before.
        timestamp: The new block's time in Unix seconds, not below the parent's.
        upgrades: The network's upgrades.
    """
    phase = phase_at(upgrades, parent.timestamp)
    if phase < CorethPhase.APRICOT_3 or parent.number == 0:
        return _EMPTY
    seconds = timestamp - parent.timestamp
    added = [parent.gas_used]
    if phase >= CorethPhase.APRICOT_5:
        added.append(parent.ext_data_gas_used or 0)
    elif phase >= CorethPhase.APRICOT_4:
        # The step of phase 4 even if the new block is in phase 5.
        added += [
            parent.ext_data_gas_used or 0,
            cost_after(parent.block_gas_cost, OLD_COST_STEP, seconds),
        ]
    else:
        added.append(_INTRINSIC_BLOCK_GAS)
    raw = parent.extra_data
    window = [int.from_bytes(raw[at : at + 8], "big") for at in range(0, WINDOW_SIZE, 8)]
    window[-1] = min(window[-1] + sum(added), uint64.MAX)
    gone = min(seconds, WINDOW_SECONDS)
    return (*window[gone:], *_EMPTY[:gone])


def base_fee_after(parent: CorethHeader, timestamp: int, upgrades: UpgradeTimes) -> int:
    """Return the base fee of the block after `parent`, in wei; arguments as for `window_before`."""
    phase = phase_at(upgrades, parent.timestamp)
    if phase < CorethPhase.APRICOT_3 or parent.number == 0:
        return FIRST_BASE_FEE
    since_phase_5 = phase >= CorethPhase.APRICOT_5
    target = _TARGET if since_phase_5 else _OLD_TARGET
    divisor = _DIVISOR if since_phase_5 else _OLD_DIVISOR
    used = min(sum(window_before(parent, timestamp, upgrades)), uint64.MAX)
    base_fee = parent.base_fee or 0
    if used == target:
        return base_fee  # even outside of the bounds
    step = max(base_fee * abs(used - target) // target // divisor, 1)
    if used > target:
        base_fee += step
    else:
        windows = (timestamp - parent.timestamp) // WINDOW_SECONDS
        base_fee -= step * max(windows, 1)
    least, most = next((least, most) for first, least, most in _BOUNDS if phase >= first)
    return max(least, min(base_fee, most))


def cost_after(cost: int | None, step: int, seconds: int) -> int:
    """Return the cost in gas of a block that follows one with this cost after some seconds.

    Args:
        cost: The parent's; None: it has none, because it is before Apricot phase 4.
        step: The change for each second.
        seconds: The time between the two blocks.
    """
    if cost is None:
        return 0
    changed = cost + step * (_TARGET_SECONDS - seconds)
    return max(0, min(changed, _MAX_COST))


def block_gas_cost_after(
    parent: CorethHeader, timestamp: int, upgrades: UpgradeTimes
) -> int | None:
    """Return the gas that the tips of the block after `parent` have to buy; None before Apricot phase 4."""
    phase = phase_at(upgrades, timestamp)
    if phase < CorethPhase.APRICOT_4:
        return None
    if phase >= CorethPhase.GRANITE:
        return 0
    step = COST_STEP if phase >= CorethPhase.APRICOT_5 else OLD_COST_STEP
    return cost_after(parent.block_gas_cost, step, max(0, timestamp - parent.timestamp))


def verify_block_fee(
    base_fee: int | None,
    cost: int | None,
    premiums: Iterable[tuple[int, int]],
    contribution: int = 0,
) -> None:
    """Check that a block's tips buy the gas that the block costs.

    Args:
        base_fee: The block's base fee, in wei.
        cost: The gas that the block costs.
        premiums: Of each transaction the tip in wei per gas, and the gas that it used.
        contribution: Wei that atomic transactions burn above their fees.

    Raises:
        BlockRefused: They buy less, or a value is out of range.
    """
    if base_fee is None or base_fee <= 0:
        shown = "<nil>" if base_fee is None else base_fee
        raise BlockRefused(CorethReason.FEE_WITHOUT_BASE_FEE, have=shown)
    if cost is None or not 0 <= cost <= uint64.MAX:
        shown = "<nil>" if cost is None else cost
        raise BlockRefused(CorethReason.FEE_WITHOUT_COST, have=shown)
    if cost == 0:
        return
    if contribution < 0:
        raise BlockRefused(CorethReason.NEGATIVE_CONTRIBUTION, have=contribution)
    paid = contribution + sum(tip * gas for tip, gas in premiums)
    if paid // base_fee < cost:
        raise BlockRefused(CorethReason.BLOCK_FEE, want=cost, have=paid // base_fee)
