"""AddValidatorTx and AddDelegatorTx: pending until a start in the future, else active immediately (5.4.3)."""

from dataclasses import replace

import pytest

from platform_app.config import DAY, UNIT
from platform_app.executor.errors import StakerReason, TxStateReason
from platform_app.executor.rewards import potential_reward
from platform_app.state.stakers import Priority, Staker
from platform_app.txs.errors import TxSyntaxReason
from platform_app.txs.staking import AddDelegatorTx, AddValidatorTx
from primitives.ids import PRIMARY_NETWORK_ID
from tests.builders import platform
from tests.builders.platform_state import (
    PURSE,
    SUPPLY,
    MemoryState,
    assert_refused,
    env,
    executed,
    staker,
    stakers,
    staking,
    state,
)

NOW = platform.NOW
BOTH = [AddValidatorTx, AddDelegatorTx]


def rich(*seated: Staker) -> MemoryState:
    return state(PURSE, stakers=stakers(*seated))


def enough(kind: type) -> MemoryState:
    """A state in which a transaction of this kind is accepted."""
    return rich() if kind is AddValidatorTx else rich(staker())


def test_a_validator_is_pending_with_the_start_it_names() -> None:
    tx = staking(AddValidatorTx)
    diff = executed(tx, rich())

    assert diff.stakers.changes().present == (
        Staker(
            tx_id=tx.tx_id,
            node_id=platform.NODE_ID,
            subnet_id=PRIMARY_NETWORK_ID,
            weight=2_000 * UNIT,
            start=NOW + 60,
            end=NOW + 60 + 14 * DAY,
            potential_reward=0,
            priority=Priority.PRIMARY_VALIDATOR_PENDING,
        ),
    )
    assert diff.supplies.changes() == {}
    assert diff.utxos.changes().consumed == (PURSE.utxo_id,)


def test_stake_is_in_no_output_while_it_is_staked() -> None:
    holder = rich()
    change = platform.outputs(5_000 * UNIT)
    holder.accept(executed(staking(AddValidatorTx, outputs=change), holder))

    assert holder.unspent() == 5_000 * UNIT


def test_a_delegator_is_pending_before_validators_of_the_same_time() -> None:
    tx = staking(AddDelegatorTx)
    diff = executed(tx, rich(staker()))

    assert [item.priority for item in diff.stakers.changes().present] == [
        Priority.PRIMARY_DELEGATOR_SCHEDULED_PENDING
    ]
    assert diff.stakers.changes().present[0].weight == 25 * UNIT


def test_a_validator_stakes_no_less_than_the_least() -> None:
    least = platform.CONFIG.min_validator_stake

    assert executed(staking(AddValidatorTx, weight=least), rich()).stakers.changes().present
    assert_refused(
        staking(AddValidatorTx, weight=least - 1),
        rich(),
        StakerReason.STAKE_TOO_LOW,
        "weight of this validator is too low",
    )


def test_a_validator_stakes_no_more_than_the_most() -> None:
    most = platform.CONFIG.max_validator_stake

    assert executed(staking(AddValidatorTx, weight=most), rich()).stakers.changes().present
    assert_refused(
        staking(AddValidatorTx, weight=most + 1),
        rich(),
        StakerReason.STAKE_TOO_HIGH,
        "weight of this validator is too large",
    )


def test_a_delegator_stakes_no_less_than_25_coins() -> None:
    assert_refused(
        staking(AddDelegatorTx, weight=25 * UNIT - 1),
        rich(staker()),
        StakerReason.STAKE_TOO_LOW,
        "weight of this validator is too low",
    )


def test_a_validator_charges_no_less_than_the_least_fee() -> None:
    assert_refused(
        staking(AddValidatorTx, shares=platform.CONFIG.min_delegation_fee - 1),
        rich(),
        StakerReason.DELEGATION_FEE_TOO_LOW,
        "staker charges an insufficient delegation fee",
    )


@pytest.mark.parametrize("kind", BOTH)
def test_staking_period_below_the_minimum_is_refused(kind: type) -> None:
    end = NOW + 60 + platform.CONFIG.min_stake_duration

    assert executed(staking(kind, end=end), enough(kind)).stakers.changes().present
    assert_refused(
        staking(kind, end=end - 1),
        enough(kind),
        StakerReason.PERIOD_TOO_SHORT,
        "staking period is too short",
    )


@pytest.mark.parametrize("kind", BOTH)
def test_staking_period_with_end_before_start_is_refused(kind: type) -> None:
    assert_refused(
        staking(kind, end=0),
        enough(kind),
        StakerReason.PERIOD_TOO_SHORT,
        "staking period is too short",
    )


@pytest.mark.parametrize("kind", BOTH)
def test_staking_period_above_the_maximum_is_refused(kind: type) -> None:
    assert_refused(
        staking(kind, end=NOW + 61 + platform.CONFIG.max_stake_duration),
        enough(kind),
        StakerReason.PERIOD_TOO_LONG,
        "staking period is too long",
    )


@pytest.mark.parametrize("start", [0, NOW - 1, NOW])
@pytest.mark.parametrize(
    ("kind", "priority"),
    [
        (AddValidatorTx, Priority.PRIMARY_VALIDATOR_CURRENT),
        (AddDelegatorTx, Priority.PRIMARY_DELEGATOR_CURRENT),
    ],
)
def test_a_start_that_is_not_in_the_future_is_chain_time(
    kind: type, priority: Priority, start: int
) -> None:
    diff = executed(staking(kind, start=start, end=NOW + 20 * DAY), enough(kind))
    (added,) = diff.stakers.changes().present
    reward = potential_reward(
        platform.CONFIG.rewards, supply=SUPPLY, amount=added.weight, duration=20 * DAY
    )

    assert (added.start, added.end, added.priority) == (NOW, NOW + 20 * DAY, priority)
    assert added.potential_reward == reward > 0
    assert diff.supplies.changes() == {PRIMARY_NETWORK_ID: SUPPLY + reward}


@pytest.mark.parametrize("kind", BOTH)
def test_a_start_in_the_future_is_waited_for(kind: type) -> None:
    (added,) = executed(staking(kind, start=NOW + 1), enough(kind)).stakers.changes().present

    assert (added.start, added.priority.is_pending) == (NOW + 1, True)


@pytest.mark.parametrize("kind", BOTH)
def test_start_over_two_weeks_ahead_is_refused(kind: type) -> None:
    far = NOW + 14 * DAY

    assert executed(staking(kind, start=far, end=far + DAY), enough(kind)).stakers.changes().present
    assert_refused(
        staking(kind, start=far + 1, end=far + 1 + DAY),
        enough(kind),
        StakerReason.START_TOO_FAR_AHEAD,
        "staker is attempting to start staking more than 336h0m0s ahead of the current chain time",
    )


def test_how_far_ahead_a_start_is_is_checked_last() -> None:
    assert_refused(
        staking(AddValidatorTx, start=NOW + 20 * DAY, end=NOW + 30 * DAY),
        rich(staker()),
        StakerReason.ALREADY_VALIDATOR,
        f"{platform.NODE_ID} is already a validator of the primary network",
    )


@pytest.mark.parametrize(
    "priority", [Priority.PRIMARY_VALIDATOR_CURRENT, Priority.PRIMARY_VALIDATOR_PENDING]
)
def test_a_node_validates_once(priority: Priority) -> None:
    assert_refused(
        staking(AddValidatorTx),
        rich(staker(priority=priority)),
        StakerReason.ALREADY_VALIDATOR,
        f"{platform.NODE_ID} is already a validator of the primary network",
    )


@pytest.mark.parametrize("kind", BOTH)
def test_stake_is_paid_for(kind: type) -> None:
    tx = staking(kind, inputs=platform.spend_all(platform.utxo(20 * UNIT)))
    holder = enough(kind)
    holder.fund(platform.utxo(20 * UNIT))
    missing = platform.unsigned(kind).validator.weight - 20 * UNIT

    assert_refused(
        tx,
        holder,
        TxStateReason.FLOW_CHECK_FAILED,
        f"flow check failed: insufficient unlocked funds: needs {missing} more {platform.ASSET_ID}",
        because=TxStateReason.INSUFFICIENT_UNLOCKED_FUNDS,
    )


def test_stakers_of_the_primary_network_pay_no_fee() -> None:
    exact = platform.utxo(2_000 * UNIT)
    tx = staking(AddValidatorTx, inputs=platform.spend_all(exact))

    assert executed(tx, state(exact)).stakers.changes().present


def test_locked_coins_can_be_staked_and_remain_locked() -> None:
    locked = platform.utxo(2_000 * UNIT, stakeable_until=NOW + DAY)
    stake = (platform.output(2_000 * UNIT, stakeable_until=NOW + DAY),)
    tx = staking(AddValidatorTx, inputs=platform.spend_all(locked), stake=stake)

    assert executed(tx, state(locked)).stakers.changes().present


def test_weight_must_equal_the_stake() -> None:
    assert_refused(
        staking(AddValidatorTx, stake=platform.outputs(2_001 * UNIT)),
        rich(),
        TxSyntaxReason.VALIDATOR_WEIGHT_MISMATCH,
        "validator weight mismatch: weight 2000000000 != stake 2001000000",
    )


def test_a_delegator_needs_a_validator() -> None:
    assert_refused(
        staking(AddDelegatorTx),
        rich(),
        StakerReason.PRIMARY_VALIDATOR_MISSING,
        f"failed to fetch the primary network validator for {platform.NODE_ID}: not found",
    )


def test_a_delegator_may_stake_all_the_time_that_its_validator_does() -> None:
    period = {"start": NOW + 60, "end": NOW + 60 + 14 * DAY}
    validator = staker(**period, priority=Priority.PRIMARY_VALIDATOR_PENDING)

    assert executed(staking(AddDelegatorTx, **period), rich(validator)).stakers.changes().present


@pytest.mark.parametrize(
    "period", [{"start": NOW + 61}, {"end": NOW + 60 + 14 * DAY - 1}], ids=["begins", "ends"]
)
def test_a_delegator_stakes_while_its_validator_does(period: dict[str, int]) -> None:
    validator = staker(**period, priority=Priority.PRIMARY_VALIDATOR_PENDING)

    assert_refused(
        staking(AddDelegatorTx),
        rich(validator),
        StakerReason.PERIOD_MISMATCH,
        "proposed staking period is not inside dependent staking period",
    )


def test_a_validator_takes_four_times_its_own_stake() -> None:
    four = 8_000 * UNIT

    assert executed(staking(AddDelegatorTx, weight=four), rich(staker())).stakers.changes().present
    assert_refused(
        staking(AddDelegatorTx, weight=four + 1),
        rich(staker()),
        StakerReason.OVER_DELEGATED,
        "validator would be over delegated",
    )


def test_a_validator_takes_no_more_than_the_most_in_all() -> None:
    large = staker(weight=2_000_000 * UNIT)

    assert (
        executed(staking(AddDelegatorTx, weight=1_000_000 * UNIT), rich(large))
        .stakers.changes()
        .present
    )
    assert_refused(
        staking(AddDelegatorTx, weight=1_000_000 * UNIT + 1),
        rich(large),
        StakerReason.OVER_DELEGATED,
        "validator would be over delegated",
    )


def test_a_limit_beyond_64_bits_is_refused() -> None:
    assert_refused(
        staking(AddDelegatorTx),
        rich(staker(weight=2**62)),
        StakerReason.STAKE_LIMIT_OVERFLOW,
        "validator stake exceeds limit",
    )


def test_limits_are_the_network_s() -> None:
    strict = env(config=replace(platform.CONFIG, min_delegator_stake=30 * UNIT))

    assert_refused(
        staking(AddDelegatorTx, weight=29 * UNIT),
        rich(staker()),
        StakerReason.STAKE_TOO_LOW,
        "weight of this validator is too low",
        environment=strict,
    )
