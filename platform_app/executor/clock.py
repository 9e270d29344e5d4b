"""Chain time: when stakers change, the time of the next block, and the effects of advancing time.

pchain.md 5.4.4 and 4 (block building). Time stops at each change of the staker sets: no block skips
one. Stakers that earn rewards are not removed here but by a proposal (`proposal`).
"""

from collections.abc import Iterator
from itertools import takewhile

from platform_app.config import PlatformConfig
from platform_app.executor.fees import refill
from platform_app.executor.proposal import potential_reward
from platform_app.state.chain import ChainState, Diff
from platform_app.state.stakers import Priority, Staker


def next_staker_change(state: ChainState) -> int | None:
    """Return when the next staker starts or ends, in Unix seconds; None if there are no stakers."""
    first = (next(state.stakers.current(), None), next(state.stakers.pending(), None))
    return min((staker.next_time for staker in first if staker), default=None)


def next_block_time(state: ChainState, now: int) -> int:
    """Return the time of a block that is built now: never before chain time or after a staker change."""
    time = max(now, state.clock.timestamp())
    change = next_staker_change(state)
    return time if change is None else min(time, change)


def at_next_block(state: ChainState, now: int, config: PlatformConfig) -> Diff:
    """Return the state on which the first transaction of a block built now would be executed."""
    diff = Diff(state)
    advance_time_to(diff, next_block_time(state, now), config)
    return diff


def advance_time_to(diff: Diff, time: int, config: PlatformConfig) -> bool:
    """Move chain time forward: pending stakers start, permissioned ones leave, gas is refilled.

    Rewards are calculated in staker order, each from the supply after the previous one.

    Args:
        diff: The state to change.
        time: The new chain time; no later than `next_staker_change`.
        config: The network.

    Returns:
        Whether the staker sets changed.
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
    diff.clock.set_timestamp(time)
    return bool(beginning or leaving)


def promote(staker: Staker, diff: Diff, config: PlatformConfig) -> None:
    """Move a pending staker to the current set: calculate its reward and add it to the supply."""
    if staker.priority.is_permissioned:
        diff.stakers.put(staker.promoted(potential_reward=0))
        return
    supply = diff.supplies.get(staker.subnet_id)
    assert supply is not None, "stakers that earn rewards are on subnets with a supply"
    reward = potential_reward(
        config.rewards,
        supply=supply,
        amount=staker.weight,
        duration=staker.end - staker.start,
    )
    diff.supplies.set(staker.subnet_id, supply + reward)
    diff.stakers.put(staker.promoted(potential_reward=reward))


def _until(time: int, stakers: Iterator[Staker]) -> list[Staker]:
    return list(takewhile(lambda staker: staker.next_time <= time, stakers))
