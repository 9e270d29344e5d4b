"""Adding auto-renewed validators and changing their terms, and Helicon's other limits (etna.md 9)."""

from dataclasses import replace
from typing import Any

import pytest

from platform_app.config import DAY, reference_config, specification_config
from platform_app.executor.errors import AutoRenewalReason, StakerReason, TxStateReason
from platform_app.executor.fees import required_fee
from platform_app.executor.proposal import required_uptime
from platform_app.executor.rewards import potential_reward, rates_at
from platform_app.executor.staking import min_validator_duration
from platform_app.state.facets import FeeState
from platform_app.state.stakers import AutoRenewal, Priority
from platform_app.txs.errors import TxSyntaxReason
from platform_app.txs.l1 import AddAutoRenewedValidatorTx, SetAutoRenewedValidatorConfigTx
from platform_app.txs.staking import (
    AddPermissionlessDelegatorTx,
    AddPermissionlessValidatorTx,
    AddValidatorTx,
)
from platform_app.txs.subnets import AddSubnetValidatorTx
from primitives.ids import PRIMARY_NETWORK_ID
from primitives.upgrades import FUJI, MAINNET, NEVER
from tests.builders import platform
from tests.builders.auto_renewed import (
    CONFIG,
    ENV,
    HOUR,
    adding,
    changing,
    seated,
    terms_of,
)
from tests.builders.platform_state import (
    PURSE,
    SUPPLY,
    MemoryState,
    assert_refused,
    env,
    executed,
    joined,
    staker,
    stakers,
    staking,
    state,
)
from utxo.errors import CredentialReason

NOW = platform.NOW
HELICON = CONFIG.upgrades.helicon
STAKE = CONFIG.min_validator_stake
FEES = platform.utxo(number=20)


def refused(tx: Any, reason: Any, words: str, holder: MemoryState, **more: Any) -> None:
    assert_refused(tx, holder, reason, words, environment=ENV, **more)


def seat(**changes: Any) -> tuple[MemoryState, Any]:
    """Return a state with an auto-renewed validator and coins for a fee, and the validator."""
    holder = state(PURSE, FEES)
    return holder, seated(holder, **changes)


def change_of(validator: Any, **changes: Any) -> Any:
    fields = {"inputs": platform.spend_all(FEES), "outputs": (), **changes}
    return changing(validator.tx_id, **fields)


def fee_of(tx: Any) -> int:
    return required_fee(tx.unsigned, CONFIG, FeeState())


def test_it_is_a_current_validator_immediately_with_its_reward() -> None:
    tx = adding(auto_compound_reward_shares=300_000)
    diff = executed(tx, state(PURSE), ENV)
    (added,) = diff.stakers.changes().present

    assert (added.node_id, added.weight, added.tx_id) == (platform.NODE_ID, STAKE, tx.tx_id)
    assert (added.start, added.end) == (NOW, NOW + HOUR)
    assert added.priority is Priority.PRIMARY_VALIDATOR_CURRENT
    assert added.public_key == platform.proof_of_possession().public_key
    reward = potential_reward(rates_at(CONFIG, NOW), supply=SUPPLY, amount=STAKE, duration=HOUR)
    assert added.potential_reward == reward > 0
    assert diff.supplies.get(PRIMARY_NETWORK_ID) == SUPPLY + reward
    assert diff.stakers.auto_renewal(tx.tx_id) == AutoRenewal(HOUR, 300_000)
    assert diff.utxos.get(PURSE.utxo_id) is None


@pytest.mark.parametrize("kind", [AddAutoRenewedValidatorTx, SetAutoRenewedValidatorConfigTx])
def test_it_does_not_exist_before_helicon(kind: Any) -> None:
    late = replace(CONFIG, upgrades=replace(CONFIG.upgrades, helicon=NOW + 1))
    assert_refused(
        platform.signed(kind, network_id=1),
        state(),
        TxStateReason.HELICON_FEATURE,
        "attempting to use a Helicon-upgrade feature prior to activation",
        environment=env(config=late),
    )


@pytest.mark.parametrize(
    ("changes", "reason", "words"),
    [
        ({"weight": STAKE - 1}, StakerReason.STAKE_TOO_LOW, "weight of this validator is too low"),
        (
            {"weight": CONFIG.max_validator_stake + 1},
            StakerReason.STAKE_TOO_HIGH,
            "weight of this validator is too large",
        ),
        (
            {"delegation_shares": 19_999},
            StakerReason.DELEGATION_FEE_TOO_LOW,
            "staker charges an insufficient delegation fee",
        ),
        ({"period": HOUR - 1}, StakerReason.PERIOD_TOO_SHORT, "staking period is too short"),
        ({"period": 365 * DAY + 1}, StakerReason.PERIOD_TOO_LONG, "staking period is too long"),
        ({"period": 2**64 - 1}, StakerReason.PERIOD_TOO_LONG, "staking period is too long"),
        ({"memo": b"x"}, TxSyntaxReason.MEMO_TOO_LONG, "memo exceeds maximum length: 1 > 0"),
    ],
)
def test_a_staking_rule_is_named(changes: dict[str, Any], reason: Any, words: str) -> None:
    refused(adding(**changes), reason, words, state(PURSE))


def test_a_node_has_one_validator() -> None:
    words = f"duplicate validator: {platform.NODE_ID}"
    for priority in (Priority.PRIMARY_VALIDATOR_CURRENT, Priority.PRIMARY_VALIDATOR_PENDING):
        holder = state(PURSE, stakers=stakers(staker(priority=priority)))
        refused(adding(), AutoRenewalReason.DUPLICATE, words, holder)


def test_stake_and_fee_are_covered() -> None:
    coin = platform.utxo(STAKE, number=9)
    tx = adding(inputs=platform.spend_all(coin))
    refused(
        tx,
        TxStateReason.FLOW_CHECK_FAILED,
        f"flow check failed: insufficient unlocked funds: needs {fee_of(tx)} more {platform.ASSET_ID}",
        state(coin),
        because=TxStateReason.INSUFFICIENT_UNLOCKED_FUNDS,
    )


def test_its_authority_changes_its_terms() -> None:
    holder, validator = seat(auto_compound_reward_shares=300_000)
    tx = change_of(validator, period=3 * HOUR, auto_compound_reward_shares=1_000_000)
    diff = executed(tx, holder, ENV)

    assert terms_of(diff, validator) == AutoRenewal(3 * HOUR, 1_000_000)
    assert diff.stakers.changes().present == ()
    assert diff.stakers.get(validator.tx_id) == validator
    assert diff.utxos.get(FEES.utxo_id) is None


def test_restaked_rewards_stay_as_they_are() -> None:
    holder, validator = seat()
    holder.stakers.auto_renewals[validator.tx_id] = AutoRenewal(HOUR, 1, 17, 4)
    diff = executed(change_of(validator, period=0), holder, ENV)

    assert terms_of(diff, validator) == AutoRenewal(0, 0, 17, 4)


@pytest.mark.parametrize("period", [0, HOUR, 365 * DAY])
def test_it_may_leave_or_stay_for_an_allowed_period(period: int) -> None:
    holder, validator = seat()
    diff = executed(change_of(validator, period=period), holder, ENV)
    assert terms_of(diff, validator).next_period == period


@pytest.mark.parametrize(
    ("period", "reason", "words"),
    [
        (1, StakerReason.PERIOD_TOO_SHORT, "staking period is too short"),
        (HOUR - 1, StakerReason.PERIOD_TOO_SHORT, "staking period is too short"),
        (365 * DAY + 1, StakerReason.PERIOD_TOO_LONG, "staking period is too long"),
    ],
)
def test_the_next_period_has_limits(period: int, reason: Any, words: str) -> None:
    holder, validator = seat()
    refused(change_of(validator, period=period), reason, words, holder)


def test_only_the_authority_may_change_the_terms() -> None:
    holder, validator = seat()
    expected, got = platform.ADDRESSES[2], platform.ADDRESSES[0]
    refused(
        change_of(validator, key=platform.KEYS[0]),
        TxStateReason.UNAUTHORIZED_MODIFICATION,
        f"unauthorized modification: wrong signature: expected signature from {expected} "
        f"but got from {got}",
        holder,
        because=CredentialReason.WRONG_SIGNER,
    )


def test_a_change_without_credentials_is_refused() -> None:
    holder, validator = seat()
    unsigned = change_of(validator).unsigned
    refused(
        platform.signed(unsigned, []),
        TxSyntaxReason.CREDENTIALS_DIFFER_FROM_INPUTS,
        "should have the same number of credentials as inputs",
        holder,
    )


def test_a_change_has_a_fee() -> None:
    holder, validator = seat()
    coin = platform.utxo(1, number=21)
    holder.fund(coin)
    tx = change_of(validator, inputs=platform.spend_all(coin))
    refused(
        tx,
        TxStateReason.FLOW_CHECK_FAILED,
        f"flow check failed: insufficient unlocked funds: needs {fee_of(tx) - 1} more {platform.ASSET_ID}",
        holder,
        because=TxStateReason.INSUFFICIENT_UNLOCKED_FUNDS,
    )


def test_a_change_names_an_accepted_transaction() -> None:
    holder, _ = seat()
    refused(
        changing(platform.some_id("unknown"), inputs=platform.spend_all(FEES), outputs=()),
        AutoRenewalReason.STAKER_TX_MISSING,
        "getting staker tx: not found",
        holder,
    )


def test_a_change_names_an_auto_renewed_validator() -> None:
    holder = state(FEES)
    ordinary = joined(holder, staking(AddValidatorTx))
    refused(
        change_of(ordinary),
        AutoRenewalReason.WRONG_STAKER_TX_TYPE,
        "invalid staker tx type: *txs.AddValidatorTx",
        holder,
    )


@pytest.mark.parametrize("priority", [None, Priority.PRIMARY_VALIDATOR_PENDING])
def test_a_change_needs_a_current_validator(priority: Priority | None) -> None:
    holder, validator = seat()
    del holder.stakers[validator.tx_id]
    if priority:
        later = replace(validator, tx_id=platform.some_id("later"), priority=priority)
        holder.stakers[later.tx_id] = later
    refused(
        change_of(validator),
        AutoRenewalReason.VALIDATOR_MISSING,
        f"getting validator {platform.NODE_ID} from state: not found",
        holder,
    )


def test_a_change_is_for_the_node_s_present_validation() -> None:
    holder, validator = seat()
    del holder.stakers[validator.tx_id]
    later = replace(validator, tx_id=platform.some_id("later"))
    holder.stakers[later.tx_id] = later
    refused(
        change_of(validator),
        AutoRenewalReason.WRONG_TX_ID,
        "invalid staker tx: wrong tx id",
        holder,
    )


@pytest.mark.parametrize("kind", [AddValidatorTx, AddPermissionlessValidatorTx])
def test_validators_may_stay_for_an_hour_since_helicon(kind: Any) -> None:
    tx = staking(kind, start=NOW, end=NOW + HOUR)
    assert executed(tx, state(PURSE), ENV).stakers.changes().present
    before = env(config=replace(CONFIG, upgrades=replace(CONFIG.upgrades, helicon=NOW + 1)))
    assert_refused(
        tx,
        state(PURSE),
        StakerReason.PERIOD_TOO_SHORT,
        "staking period is too short",
        environment=before,
    )


def test_delegators_and_validators_of_subnets_stay_for_a_day() -> None:
    holder = state(PURSE, stakers=stakers(staker()))
    holder.subnets.owners[platform.SUBNET_ID] = platform.owners()
    period = platform.subnet_validator(start=NOW, end=NOW + DAY - 1)
    for tx in (
        staking(AddPermissionlessDelegatorTx, start=NOW, end=NOW + DAY - 1),
        platform.signed(AddSubnetValidatorTx, validator=period),
    ):
        refused(tx, StakerReason.PERIOD_TOO_SHORT, "staking period is too short", holder)


def test_a_delegator_stays_within_the_present_period() -> None:
    holder, validator = seat(period=2 * DAY)
    coin = platform.utxo(100 * STAKE, number=22)
    holder.fund(coin)
    for end, reason in ((validator.end, None), (validator.end + 1, StakerReason.PERIOD_MISMATCH)):
        inputs = platform.spend_all(coin)
        tx = staking(AddPermissionlessDelegatorTx, start=NOW, end=end, inputs=inputs)
        if reason is None:
            assert executed(tx, holder, ENV).stakers.changes().present
        else:
            words = "proposed staking period is not inside dependent staking period"
            refused(tx, reason, words, holder)


@pytest.mark.parametrize(("network_id", "hours"), [(1, 48), (5, 12), (12345, 1), (777, 1)])
@pytest.mark.parametrize("parameters", [reference_config, specification_config])
def test_the_shortest_period_depends_on_the_network(
    network_id: int, hours: int, parameters: Any
) -> None:
    config = replace(parameters(network_id), upgrades=replace(CONFIG.upgrades, helicon=HELICON))
    assert min_validator_duration(config, HELICON) == hours * HOUR
    assert min_validator_duration(config, HELICON - 1) == config.min_stake_duration


def test_helicon_is_active_nowhere_by_itself() -> None:
    assert {MAINNET.helicon, FUJI.helicon, platform.CONFIG.upgrades.helicon} == {NEVER}


def test_the_required_uptime_is_higher_since_helicon() -> None:
    assert required_uptime(CONFIG, HELICON - 1) == 800_000
    assert required_uptime(CONFIG, HELICON) == 900_000
    assert required_uptime(platform.CONFIG, NOW) == 800_000


@pytest.mark.parametrize(
    ("before", "elapsed", "rate"),
    [
        (100_000, -1, 100_000),
        (100_000, 0, 100_000),
        (100_000, 1, 100_000),
        (100_000, 9 * DAY, 97_500),
        (100_000, 45 * DAY + 1, 87_500),
        (100_000, 90 * DAY - 1, 75_001),
        (100_000, 90 * DAY, 75_000),
        (100_000, 4_000 * DAY, 75_000),
        (75_000, 45 * DAY, 75_000),
        (65_000, 45 * DAY, 70_000),
        (65_000, 90 * DAY, 75_000),
    ],
)
def test_the_consumption_rate_changes_within_ninety_days(
    before: int, elapsed: int, rate: int
) -> None:
    config = replace(CONFIG, rewards=replace(CONFIG.rewards, min_consumption_rate=before))
    found = rates_at(config, HELICON + elapsed)
    assert found == replace(config.rewards, min_consumption_rate=rate)


def test_the_minimum_rate_does_not_pass_the_maximum() -> None:
    rewards = replace(CONFIG.rewards, min_consumption_rate=60_000, max_consumption_rate=74_999)
    config = replace(CONFIG, rewards=rewards)
    assert rates_at(config, HELICON + 90 * DAY) == rewards
