"""AddPermissionlessValidatorTx and AddPermissionlessDelegatorTx (5.4.3; design decision in 9)."""

import pytest

from platform_app.config import DAY, UNIT
from platform_app.executor.errors import StakerReason, TxStateReason
from platform_app.executor.rewards import potential_reward
from platform_app.state.stakers import Priority, Staker
from platform_app.txs.base import EmptySigner
from platform_app.txs.errors import TxSyntaxReason
from platform_app.txs.staking import AddPermissionlessDelegatorTx, AddPermissionlessValidatorTx
from primitives.ids import PRIMARY_NETWORK_ID
from tests.builders import platform
from tests.builders.platform_state import (
    PURSE,
    SUPPLY,
    MemoryState,
    assert_refused,
    executed,
    staker,
    stakers,
    staking,
    state,
)

NOW = platform.NOW
BOTH = [AddPermissionlessValidatorTx, AddPermissionlessDelegatorTx]
CURRENT = [Priority.PRIMARY_VALIDATOR_CURRENT, Priority.PRIMARY_DELEGATOR_CURRENT]
PENDING = [Priority.PRIMARY_VALIDATOR_PENDING, Priority.PRIMARY_DELEGATOR_PENDING]


def rich(*seated: Staker) -> MemoryState:
    return state(PURSE, stakers=stakers(*seated))


def enough(kind: type) -> MemoryState:
    """A state in which a transaction of this kind is accepted."""
    return rich() if kind is AddPermissionlessValidatorTx else rich(staker())


@pytest.mark.parametrize("start", [0, NOW - 1, NOW])
@pytest.mark.parametrize(("kind", "priority"), list(zip(BOTH, CURRENT, strict=True)))
def test_a_start_that_is_not_in_the_future_is_chain_time(
    kind: type, priority: Priority, start: int
) -> None:
    tx = staking(kind, start=start, end=NOW + 20 * DAY)
    diff = executed(tx, enough(kind))
    (added,) = diff.stakers.changes().present
    reward = potential_reward(
        platform.CONFIG.rewards, supply=SUPPLY, amount=added.weight, duration=20 * DAY
    )

    assert (added.start, added.end, added.priority) == (NOW, NOW + 20 * DAY, priority)
    assert added.potential_reward == reward > 0
    assert diff.supplies.changes() == {PRIMARY_NETWORK_ID: SUPPLY + reward}


@pytest.mark.parametrize(("kind", "priority"), list(zip(BOTH, PENDING, strict=True)))
def test_a_start_in_the_future_is_waited_for(kind: type, priority: Priority) -> None:
    diff = executed(staking(kind, start=NOW + 1), enough(kind))
    (added,) = diff.stakers.changes().present

    assert (added.start, added.priority, added.potential_reward) == (NOW + 1, priority, 0)
    assert diff.supplies.changes() == {}


def test_a_validator_has_the_bls_key_that_it_shows() -> None:
    (added,) = executed(staking(AddPermissionlessValidatorTx), rich()).stakers.changes().present

    assert added.public_key == platform.proof_of_possession().public_key


def test_a_validator_shows_that_it_has_the_key() -> None:
    stolen = platform.proof_of_possession()
    signer = type(stolen)(platform.proof_of_possession(2).public_key, stolen.proof_of_possession)

    assert_refused(
        staking(AddPermissionlessValidatorTx, signer=signer),
        rich(),
        TxSyntaxReason.INVALID_PROOF_OF_POSSESSION,
        "invalid proof of possession",
    )


@pytest.mark.parametrize("kind", BOTH)
def test_a_period_counts_from_chain_time(kind: type) -> None:
    end = NOW + platform.CONFIG.min_stake_duration

    assert executed(staking(kind, start=0, end=end), enough(kind)).stakers.changes().present
    assert_refused(
        staking(kind, start=0, end=end - 1),
        enough(kind),
        StakerReason.PERIOD_TOO_SHORT,
        "staking period is too short",
    )


@pytest.mark.parametrize("kind", BOTH)
def test_staking_period_above_the_maximum_is_refused(kind: type) -> None:
    assert_refused(
        staking(kind, start=0, end=NOW + platform.CONFIG.max_stake_duration + 1),
        enough(kind),
        StakerReason.PERIOD_TOO_LONG,
        "staking period is too long",
    )


@pytest.mark.parametrize("kind", BOTH)
def test_start_over_two_weeks_ahead_is_refused(kind: type) -> None:
    assert_refused(
        staking(kind, start=NOW + 14 * DAY + 1, end=NOW + 20 * DAY),
        enough(kind),
        StakerReason.START_TOO_FAR_AHEAD,
        "staker is attempting to start staking more than 336h0m0s ahead of the current chain time",
    )


@pytest.mark.parametrize(
    ("change", "reason", "words"),
    [
        (
            {"weight": 2_000 * UNIT - 1},
            StakerReason.STAKE_TOO_LOW,
            "weight of this validator is too low",
        ),
        (
            {"weight": 3_000_000 * UNIT + 1},
            StakerReason.STAKE_TOO_HIGH,
            "weight of this validator is too large",
        ),
        (
            {"shares": 19_999},
            StakerReason.DELEGATION_FEE_TOO_LOW,
            "staker charges an insufficient delegation fee",
        ),
    ],
)
def test_a_validator_keeps_to_the_network_s_limits(change, reason, words: str) -> None:
    assert_refused(staking(AddPermissionlessValidatorTx, **change), rich(), reason, words)


def test_a_delegator_stakes_no_less_than_25_coins() -> None:
    assert_refused(
        staking(AddPermissionlessDelegatorTx, weight=25 * UNIT - 1),
        rich(staker()),
        StakerReason.STAKE_TOO_LOW,
        "weight of this validator is too low",
    )


@pytest.mark.parametrize("kind", BOTH)
def test_stake_is_of_the_staking_asset(kind: type) -> None:
    weight = platform.unsigned(kind).validator.weight
    other = (platform.output(weight, asset_id=platform.OTHER_ASSET_ID),)

    assert_refused(
        staking(kind, stake=other),
        enough(kind),
        StakerReason.WRONG_STAKED_ASSET,
        f"incorrect staked assetID: {platform.ASSET_ID} != {platform.OTHER_ASSET_ID}",
    )


@pytest.mark.parametrize("kind", BOTH)
def test_other_subnets_have_no_permissionless_stakers(kind: type) -> None:
    signer = {"signer": EmptySigner()} if kind is AddPermissionlessValidatorTx else {}

    assert_refused(
        staking(kind, subnet_id=platform.SUBNET_ID, **signer),
        enough(kind),
        StakerReason.SUBNET_NOT_TRANSFORMED,
        "not found",
    )


@pytest.mark.parametrize(
    "priority", [Priority.PRIMARY_VALIDATOR_CURRENT, Priority.PRIMARY_VALIDATOR_PENDING]
)
def test_a_node_validates_once(priority: Priority) -> None:
    assert_refused(
        staking(AddPermissionlessValidatorTx),
        rich(staker(priority=priority)),
        StakerReason.DUPLICATE_VALIDATOR,
        f"duplicate validator: {platform.NODE_ID} on {PRIMARY_NETWORK_ID}",
    )


def test_a_delegator_needs_a_validator() -> None:
    assert_refused(
        staking(AddPermissionlessDelegatorTx),
        rich(),
        StakerReason.DELEGATEE_MISSING,
        f"failed to fetch the validator for {platform.NODE_ID} on {PRIMARY_NETWORK_ID}: not found",
    )


def test_delegator_that_starts_before_its_validator_is_refused() -> None:
    pending = staker(start=NOW + 1, priority=Priority.PRIMARY_VALIDATOR_PENDING)

    assert_refused(
        staking(AddPermissionlessDelegatorTx, start=0),
        rich(pending),
        StakerReason.PERIOD_MISMATCH,
        "proposed staking period is not inside dependent staking period",
    )


def test_a_delegator_cannot_outlive_its_validator() -> None:
    assert_refused(
        staking(AddPermissionlessDelegatorTx, end=staker().end + 1),
        rich(staker()),
        StakerReason.PERIOD_MISMATCH,
        "proposed staking period is not inside dependent staking period",
    )


def test_a_validator_takes_four_times_its_own_stake() -> None:
    assert_refused(
        staking(AddPermissionlessDelegatorTx, weight=8_000 * UNIT + 1),
        rich(staker()),
        StakerReason.OVER_DELEGATED,
        "validator would be over delegated",
    )


def test_delegation_limit_above_64_bits_is_refused() -> None:
    large = staker(weight=2**62)

    assert_refused(
        staking(AddPermissionlessDelegatorTx),
        rich(large),
        StakerReason.OVER_DELEGATED,
        "validator would be over delegated",
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


def test_the_second_reward_counts_with_a_supply_that_the_first_has_raised() -> None:
    holder = rich(staker())
    first = executed(staking(AddPermissionlessDelegatorTx, start=0), holder)
    holder.accept(first)
    holder.fund(PURSE)
    second = executed(staking(AddPermissionlessDelegatorTx, start=0, memo=b"2"), holder)

    supply = first.supplies.get(PRIMARY_NETWORK_ID)
    reward = second.stakers.changes().present[0].potential_reward
    assert second.supplies.get(PRIMARY_NETWORK_ID) == supply + reward
    assert reward < first.stakers.changes().present[0].potential_reward
