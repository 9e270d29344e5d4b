"""Staking rewards: the staker whose reward is due, the amount, and how it is divided (pchain.md 7; etna.md 9)."""

from dataclasses import replace
from typing import Final, NamedTuple

from platform_app.config import DAY, MILLION, PlatformConfig, RewardConfig
from platform_app.executor.errors import TxStateReason, moment
from platform_app.state.chain import ChainState, Diff
from platform_app.state.stakers import Staker
from primitives.ids import ID
from primitives.uint64 import MAX
from utxo.components import OutputOwners, Owner
from utxo.errors import InvalidTx

_NANOSECONDS: Final = 1_000_000_000
_HELICON_MIN_RATE: Final = 75_000
"""The minimum consumption rate that Helicon leads to, in millionths (ACP-285)."""
_HELICON_CHANGE: Final = 90 * DAY
"""Seconds from Helicon until the minimum consumption rate has its new value (ACP-285)."""


class Split(NamedTuple):
    """A reward, split into two parts."""

    delegatee: int
    """The validator's part, or the part that is restaked."""
    delegator: int
    """The delegator's part, or the part that is paid out."""


def rates_at(config: PlatformConfig, start: int) -> RewardConfig:
    """Return the parameters of the Primary Network's rewards for a staking period that starts at a time.

    From Helicon on, the minimum consumption rate changes linearly to 7.5 percent within 90 days (ACP-285).
    """
    rewards, elapsed = config.rewards, start - config.upgrades.helicon
    if elapsed < 0 or rewards.max_consumption_rate < _HELICON_MIN_RATE:
        return rewards
    rate = rewards.min_consumption_rate
    whole = abs(rate - _HELICON_MIN_RATE)
    change = whole * min(elapsed, _HELICON_CHANGE) // _HELICON_CHANGE
    changed = rate + change if rate < _HELICON_MIN_RATE else rate - change
    return replace(rewards, min_consumption_rate=changed)


def potential_reward(config: RewardConfig, *, supply: int, amount: int, duration: int) -> int:
    """Return the reward for an amount staked for a duration, given the supply before it.

    The three divisions, each rounded down, on nanoseconds, are part of the rule.
    """
    remaining = max(config.supply_cap - supply, 0)
    staked, period = duration * _NANOSECONDS, config.minting_period * _NANOSECONDS
    rates = config.max_consumption_rate - config.min_consumption_rate
    consumed = rates * staked + config.min_consumption_rate * period
    share = remaining * consumed * amount * staked // (period * MILLION)
    return min(share // supply // period, remaining)


def split(total: int, shares: int) -> Split:
    """Split a reward by shares in millionths.

    The remainder of the division belongs to the part that the shares are of: the validator's, or the restaked one.
    """
    kept = MILLION - shares
    product = kept * total
    delegator = product // MILLION if product <= MAX else kept * (total // MILLION)
    return Split(delegatee=total - delegator, delegator=delegator)


def verified_staker(tx_id: ID, state: ChainState) -> Staker:
    """Return the staker that a proposal names.

    Raises:
        InvalidTx: There are no current stakers; the staker is not the next to leave; its end is not reached yet.
    """
    staker = next(state.stakers.current(), None)
    if staker is None:
        raise InvalidTx(TxStateReason.NO_STAKER)
    if staker.tx_id != tx_id:
        raise InvalidTx(TxStateReason.WRONG_STAKER, expected=staker.tx_id, got=tx_id)
    if staker.end != state.clock.timestamp():
        raise InvalidTx(
            TxStateReason.STAKER_NOT_DUE,
            tx_id=tx_id,
            timestamp=moment(state.clock.timestamp()),
            end=moment(staker.end),
        )
    return staker


def owners_of_field(owner: Owner) -> OutputOwners:
    """Return the owners in a transaction's field; `OutputOwners` is the only type that well-formed ones have."""
    assert isinstance(owner, OutputOwners)
    return owner


def lower_supply(staker: Staker, abort: Diff) -> None:
    """Remove a reward from the supply, to which it was added when it was calculated."""
    supply = abort.supplies.get(staker.subnet_id)
    assert supply is not None
    abort.supplies.set(staker.subnet_id, supply - staker.potential_reward)
