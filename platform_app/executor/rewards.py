"""What staking earns, and how a delegator's reward is shared with its validator (pchain.md 7.1, 7.2).

Amounts are in the smallest unit, durations in seconds, shares in millionths.
"""

from typing import NamedTuple

from platform_app.config import MILLION, RewardConfig
from primitives.uint64 import MAX

_NANOSECONDS = 1_000_000_000


class Split(NamedTuple):
    """A delegator's reward in two parts."""

    delegatee: int
    """What the validator gets."""
    delegator: int


def potential_reward(config: RewardConfig, *, supply: int, amount: int, duration: int) -> int:
    """Return what an amount staked for a duration mints, given the supply before it.

    Three divisions, each rounded down, on nanoseconds: that is part of the rule.
    """
    remaining = max(config.supply_cap - supply, 0)
    staked, period = duration * _NANOSECONDS, config.minting_period * _NANOSECONDS
    rates = config.max_consumption_rate - config.min_consumption_rate
    consumed = rates * staked + config.min_consumption_rate * period
    share = remaining * consumed * amount * staked // (period * MILLION)
    return min(share // supply // period, remaining)


def split(total: int, shares: int) -> Split:
    """Share a delegator's reward. What does not divide goes to the validator."""
    kept = MILLION - shares
    product = kept * total
    delegator = product // MILLION if product <= MAX else kept * (total // MILLION)
    return Split(delegatee=total - delegator, delegator=delegator)
