"""Chain time: when stakers change, the time of the next block, and the effects of advancing time.

pchain.md 5.4.4 and 4 (block building); etna.md 5. Time stops at each change of the staker sets: no block skips
one. Stakers that earn rewards are not removed here but by a proposal (`proposal`).
"""

from collections.abc import Iterator
from enum import StrEnum
from itertools import takewhile

from platform_app.config import PlatformConfig
from platform_app.executor.fees import charge, refill, seconds_left
from platform_app.executor.rewards import potential_reward, rates_at
from platform_app.state.chain import ChainState, Diff
from platform_app.state.l1_validators import L1Fees
from platform_app.state.stakers import Priority, Staker
from primitives.uint64 import MAX
from utxo.errors import InvalidTx


class AccruedFeesReason(StrEnum):
    """Why time cannot advance (etna.md 5)."""

    NOT_CHARGED = "could not calculate accrued fees: overflow"
    NOT_DEACTIVATED = (
        "failed to deactivate low balance L1 validators: "
        "could not calculate potentially accrued fees: overflow"
    )


def next_staker_change(state: ChainState, config: PlatformConfig, *, limit: int) -> int:
    """Return when the next staker starts or ends or the next L1 validator runs out of balance, at most `limit`.

    All times are in Unix seconds.
    """
    first = (next(state.stakers.current(), None), next(state.stakers.pending(), None))
    change = min((limit, *(staker.next_time for staker in first if staker)))
    now, l1s = state.clock.timestamp(), state.l1_validators
    poorest = next(l1s.active(), None)
    if poorest is None:
        return change
    fees = l1s.fees()
    return now + seconds_left(
        config.validator_fees,
        validators=l1s.active_count(),
        excess=fees.excess,
        most=max(0, change - now),
        funds=poorest.end_accumulated_fee - fees.accrued,
    )


def next_block_time(state: ChainState, now: int, config: PlatformConfig) -> int:
    """Return the time of a block that is built now: never before chain time or after a staker change."""
    time = max(now, state.clock.timestamp())
    return next_staker_change(state, config, limit=time)


def at_next_block(state: ChainState, now: int, config: PlatformConfig) -> Diff:
    """Return the state on which the first transaction of a block built now would be executed."""
    diff = Diff(state)
    advance_time_to(diff, next_block_time(state, now, config), config)
    return diff


def advance_time_to(diff: Diff, time: int, config: PlatformConfig) -> bool:
    """Move chain time forward: pending stakers start, permissioned ones leave, gas is refilled, L1 validators pay.

    Rewards are calculated in staker order, each from the supply after the previous one.

    Args:
        diff: The state to change.
        time: The new chain time; no later than `next_staker_change`.
        config: The network.

    Returns:
        Whether the staker sets changed.

    Raises:
        InvalidTx: The fees of L1 validators do not fit into 64 bits.
    """
    beginning = _until(time, diff.stakers.pending())
    # They come first among those that end in the same second; stakers after them need a proposal.
    leaving = list(
        takewhile(
            lambda staker: (
                staker.next_time <= time
                and staker.priority is Priority.PERMISSIONED_VALIDATOR_CURRENT
            ),
            diff.stakers.current(),
        )
    )
    for staker in beginning:
        promote(staker, diff, config)
    for staker in leaving:
        diff.stakers.remove(staker)
    elapsed = time - diff.clock.timestamp()
    diff.clock.set_fee_state(refill(diff.clock.fee_state(), config.gas, elapsed))
    is_l1_changed = _charge_l1_validators(diff, time, elapsed, config)
    diff.clock.set_timestamp(time)
    return bool(beginning or leaving or is_l1_changed)


def deactivate_poor_validators(diff: Diff, config: PlatformConfig) -> bool:
    """Deactivate the L1 validators that cannot pay for another second, after the transactions of a block.

    Return whether there were any.

    Raises:
        InvalidTx: The fees do not fit into 64 bits.
    """
    l1s = diff.l1_validators
    fees = l1s.fees()
    paid = charge(
        config.validator_fees, validators=l1s.active_count(), excess=fees.excess, seconds=1
    )
    if fees.accrued + paid.cost > MAX:
        raise InvalidTx(AccruedFeesReason.NOT_DEACTIVATED)
    return _deactivate(diff, fees.accrued + paid.cost - 1)


def _charge_l1_validators(diff: Diff, time: int, elapsed: int, config: PlatformConfig) -> bool:
    """Charge L1 validators for the time that passes; return whether some of them run out of balance."""
    l1s = diff.l1_validators
    for expiry in l1s.expired(time):
        l1s.remove_expiry(expiry)
    if elapsed == 0:
        return False
    fees = l1s.fees()
    paid = charge(
        config.validator_fees, validators=l1s.active_count(), excess=fees.excess, seconds=elapsed
    )
    if fees.accrued + paid.cost > MAX:
        raise InvalidTx(AccruedFeesReason.NOT_CHARGED)
    l1s.set_fees(L1Fees(paid.excess, fees.accrued + paid.cost))
    return _deactivate(diff, fees.accrued + paid.cost)


def _deactivate(diff: Diff, accrued: int) -> bool:
    """Deactivate the L1 validators whose balance ends at these accrued fees or before."""
    active = diff.l1_validators.active()
    poor = list(takewhile(lambda validator: validator.end_accumulated_fee <= accrued, active))
    for validator in poor:
        diff.l1_validators.put(validator.deactivated())
    return bool(poor)


def promote(staker: Staker, diff: Diff, config: PlatformConfig) -> None:
    """Move a pending staker to the current set: calculate its reward and add it to the supply."""
    if staker.priority.is_permissioned:
        diff.stakers.put(staker.promoted(potential_reward=0))
        return
    supply = diff.supplies.get(staker.subnet_id)
    assert supply is not None, "stakers that earn rewards are on subnets with a supply"
    reward = potential_reward(
        rates_at(config, staker.start),
        supply=supply,
        amount=staker.weight,
        duration=staker.end - staker.start,
    )
    diff.supplies.set(staker.subnet_id, supply + reward)
    diff.stakers.put(staker.promoted(potential_reward=reward))


def _until(time: int, stakers: Iterator[Staker]) -> list[Staker]:
    return list(takewhile(lambda staker: staker.next_time <= time, stakers))
