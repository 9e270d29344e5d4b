"""Chain time: its limits, and the changes as it advances (pchain.md 5.4.4)."""

import pytest

from platform_app.config import DAY, UNIT
from platform_app.executor.clock import (
    advance_time_to,
    at_next_block,
    next_block_time,
    next_staker_change,
)
from platform_app.executor.errors import moment
from platform_app.executor.rewards import potential_reward
from platform_app.state.chain import Diff
from platform_app.state.facets import FeeState
from platform_app.state.stakers import Priority, Staker
from primitives.hashing import sha256
from primitives.ids import PRIMARY_NETWORK_ID, NodeID
from tests.builders import platform
from tests.builders.platform_state import SUPPLY, staker, stakers, state

NOW = platform.NOW
OTHER_NODE = NodeID(sha256(b"another node")[:20])
PENDING = staker(
    "pending",
    start=NOW + 10,
    end=NOW + 10 + 20 * DAY,
    priority=Priority.PRIMARY_VALIDATOR_PENDING,
)
CURRENT = staker("current", node_id=OTHER_NODE, end=NOW + 20)
ON_SUBNET = staker(
    "on subnet",
    node_id=OTHER_NODE,
    subnet_id=platform.SUBNET_ID,
    end=NOW + 20,
    priority=Priority.PERMISSIONED_VALIDATOR_CURRENT,
)


def reward_of(amount: int, duration: int, supply: int) -> int:
    return potential_reward(
        platform.CONFIG.rewards, supply=supply, amount=amount, duration=duration
    )


def test_the_next_change_is_the_first_start_or_end() -> None:
    def change(*present: Staker) -> int:
        return next_staker_change(state(stakers=stakers(*present)), platform.CONFIG, limit=NOW + 30)

    assert change() == NOW + 30
    assert change(PENDING) == NOW + 10
    assert change(CURRENT) == NOW + 20
    assert change(CURRENT, PENDING) == NOW + 10


@pytest.mark.parametrize(
    ("clock", "expected"),
    [(NOW - 5, NOW), (NOW + 5, NOW + 5), (NOW + 10, NOW + 10), (NOW + 500, NOW + 10)],
)
def test_a_block_s_time_is_the_clock_s_within_bounds(clock: int, expected: int) -> None:
    assert next_block_time(state(stakers=stakers(PENDING)), clock, platform.CONFIG) == expected


def test_without_stakers_nothing_holds_time_back() -> None:
    assert next_block_time(state(), NOW + 500, platform.CONFIG) == NOW + 500


def test_a_pending_staker_becomes_current_at_its_start() -> None:
    diff = Diff(state(stakers=stakers(PENDING)))
    reward = reward_of(PENDING.weight, 20 * DAY, SUPPLY)

    assert advance_time_to(diff, NOW + 10, platform.CONFIG)
    (now_current,) = diff.stakers.changes().present
    assert now_current == PENDING.promoted(potential_reward=reward)
    assert now_current.priority is Priority.PRIMARY_VALIDATOR_CURRENT
    assert diff.supplies.get(PRIMARY_NETWORK_ID) == SUPPLY + reward
    assert list(diff.stakers.pending()) == []
    assert list(diff.stakers.current()) == [now_current]


def test_a_pending_staker_waits_until_its_start() -> None:
    diff = Diff(state(stakers=stakers(PENDING)))

    assert not advance_time_to(diff, NOW + 9, platform.CONFIG)
    assert diff.clock.timestamp() == NOW + 9
    assert diff.stakers.changes().present == ()


def test_rewards_are_fixed_in_staker_order_from_a_growing_supply() -> None:
    # The delegator of an AddDelegatorTx comes before its validator.
    delegator = staker(
        "delegator",
        start=PENDING.start,
        end=PENDING.end,
        weight=8_000 * UNIT,
        priority=Priority.PRIMARY_DELEGATOR_SCHEDULED_PENDING,
    )
    diff = Diff(state(stakers=stakers(PENDING, delegator), supplies={PRIMARY_NETWORK_ID: UNIT}))
    advance_time_to(diff, NOW + 10, platform.CONFIG)

    first = reward_of(delegator.weight, 20 * DAY, UNIT)
    second = reward_of(PENDING.weight, 20 * DAY, UNIT + first)
    rewards = {item.tx_id: item.potential_reward for item in diff.stakers.changes().present}
    assert rewards == {delegator.tx_id: first, PENDING.tx_id: second}
    assert diff.supplies.get(PRIMARY_NETWORK_ID) == UNIT + first + second
    assert second != reward_of(PENDING.weight, 20 * DAY, UNIT)


def test_permissioned_validator_has_no_reward() -> None:
    waiting = staker(
        subnet_id=platform.SUBNET_ID,
        start=NOW + 10,
        priority=Priority.PERMISSIONED_VALIDATOR_PENDING,
    )
    diff = Diff(state(stakers=stakers(waiting)))
    advance_time_to(diff, NOW + 10, platform.CONFIG)

    assert diff.stakers.changes().present == (waiting.promoted(potential_reward=0),)
    assert diff.supplies.changes() == {}


def test_permissioned_validator_leaves_at_its_end_time() -> None:
    diff = Diff(state(stakers=stakers(ON_SUBNET, CURRENT)))

    assert advance_time_to(diff, NOW + 20, platform.CONFIG)
    assert diff.stakers.changes().left == (ON_SUBNET,)
    assert list(diff.stakers.current()) == [CURRENT]


def test_staker_with_reward_is_not_removed_by_time() -> None:
    diff = Diff(state(stakers=stakers(CURRENT)))

    assert not advance_time_to(diff, NOW + 20, platform.CONFIG)
    assert list(diff.stakers.current()) == [CURRENT]


def test_gas_is_refilled_and_excess_falls_by_the_second() -> None:
    diff = Diff(state(fees=FeeState(capacity=5, excess=120_000)))
    advance_time_to(diff, NOW + 2, platform.CONFIG)

    assert diff.clock.fee_state() == FeeState(capacity=200_005, excess=20_000)


def test_the_next_block_s_state_is_advanced_but_the_state_is_not() -> None:
    before = state(stakers=stakers(PENDING))
    diff = at_next_block(before, NOW + 500, platform.CONFIG)

    assert diff.clock.timestamp() == NOW + 10
    assert list(diff.stakers.pending()) == []
    assert before.clock.timestamp() == NOW


def test_times_beyond_the_calendar_are_written_as_numbers() -> None:
    assert moment(0) == "1970-01-01 00:00:00 +0000 UTC"
    assert moment(2**64 - 1) == "18446744073709551615"
