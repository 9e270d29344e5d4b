"""The end of an auto-renewed validator's period: renewal, exit and abort (etna.md 9)."""

from dataclasses import replace
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from platform_app.blocks.block import BanffProposalBlock, genesis_block
from platform_app.blocks.builder import build as build_block
from platform_app.config import DAY, MILLION, UNIT
from platform_app.executor.errors import AutoRenewalReason, TxStateReason
from platform_app.executor.proposal import execute_reward, proposal_for, staker_to_reward
from platform_app.executor.rewards import potential_reward, rates_at, split
from platform_app.state.chain import Diff
from platform_app.state.stakers import AutoRenewal, Priority, Staker
from platform_app.txs.base import Tx, TxStatus
from platform_app.txs.codec import build
from platform_app.txs.errors import TxSyntaxReason
from platform_app.txs.l1 import RewardAutoRenewedValidatorTx
from platform_app.txs.staking import (
    AddPermissionlessDelegatorTx,
    AddPermissionlessValidatorTx,
    RewardValidatorTx,
)
from primitives.ids import PRIMARY_NETWORK_ID
from tests.builders import platform
from tests.builders.auto_renewed import (
    CONFIG,
    DELEGATION,
    ENV,
    HOUR,
    VALIDATION,
    at_end,
    seated,
    terms_of,
)
from tests.builders.platform_state import (
    PURSE,
    SUPPLY,
    MemoryState,
    changes_of,
    env,
    joined,
    staking,
    state,
)
from tests.builders.reasons import raises
from tests.searching import cases
from utxo.components import TransferOutput
from utxo.errors import InvalidTx

NOW = platform.NOW
STAKE = CONFIG.min_validator_stake
NEXT = 2 * HOUR


def due(
    terms: AutoRenewal, *, delegatee_reward: int = 0, potential: int = 1_000, weight: int = STAKE
) -> tuple[MemoryState, Staker]:
    """Return a state at the end of a validator's period, and the validator."""
    holder = state(PURSE)
    validator = replace(seated(holder, outputs=()), potential_reward=potential, weight=weight)
    holder.stakers[validator.tx_id] = validator
    holder.stakers.auto_renewals[validator.tx_id] = terms
    holder.stakers.delegatee_rewards[validator.tx_id] = delegatee_reward
    holder.supplies[PRIMARY_NETWORK_ID] = SUPPLY
    return at_end(holder, validator), validator


def ending(validator: Staker, *, timestamp: int | None = None) -> Tx:
    time = validator.end if timestamp is None else timestamp
    return build(RewardAutoRenewedValidatorTx(validator.tx_id, time), ())


def propose(holder: MemoryState, validator: Staker) -> tuple[Diff, Diff]:
    commit, abort = Diff(holder), Diff(holder)
    execute_reward(ending(validator), commit, abort, ENV)
    return commit, abort


def paid(diff: Diff, validator: Staker) -> list[tuple[int, Any]]:
    """Return index and output of all outputs of the proposal, which are all rewards."""
    tx_id = ending(validator).tx_id
    made = [utxo for utxo in diff.utxos.changes().produced if utxo.tx_id == tx_id]
    assert [(tx_id, utxo) for utxo in made] == list(diff.utxos.changes().rewards)
    assert {utxo.asset_id for utxo in made} <= {ENV.asset_id}
    return [(utxo.output_index, utxo.output) for utxo in made]


def returned(diff: Diff, validator: Staker) -> list[tuple[int, Any]]:
    made = diff.utxos.changes().produced
    return [(utxo.output_index, utxo.output) for utxo in made if utxo.tx_id == validator.tx_id]


def test_a_part_of_the_rewards_is_restaked_and_the_next_period_begins() -> None:
    holder, validator = due(AutoRenewal(NEXT, 300_000, 50, 7), delegatee_reward=100)
    commit, _ = propose(holder, validator)
    renewed = commit.stakers.get(validator.tx_id)

    assert renewed is not None
    assert paid(commit, validator) == [
        (0, TransferOutput(700, VALIDATION)),
        (1, TransferOutput(70, DELEGATION)),
    ]
    assert returned(commit, validator) == []
    assert renewed.weight == STAKE + 300 + 30
    assert (renewed.start, renewed.end) == (validator.end, validator.end + NEXT)
    assert terms_of(commit, validator) == AutoRenewal(NEXT, 300_000, 350, 37)
    assert commit.stakers.delegatee_reward(validator.tx_id) == 0
    assert list(commit.stakers.current()) == [renewed]
    assert commit.stakers.validator(PRIMARY_NETWORK_ID, validator.node_id) == renewed


def test_the_next_reward_is_calculated_from_the_present_supply_and_the_new_stake() -> None:
    holder, validator = due(AutoRenewal(NEXT, MILLION))
    commit, _ = propose(holder, validator)
    reward = potential_reward(
        rates_at(CONFIG, validator.end), supply=SUPPLY, amount=STAKE + 1_000, duration=NEXT
    )
    renewed = commit.stakers.get(validator.tx_id)

    assert renewed is not None
    assert renewed.potential_reward == reward > 0
    assert commit.supplies.get(PRIMARY_NETWORK_ID) == SUPPLY + reward


@pytest.mark.parametrize(
    ("shares", "outputs"),
    [(0, [(0, 1_000, VALIDATION), (1, 100, DELEGATION)]), (MILLION, [])],
)
def test_all_rewards_are_paid_or_all_are_restaked(shares: int, outputs: list[Any]) -> None:
    holder, validator = due(AutoRenewal(NEXT, shares), delegatee_reward=100)
    commit, _ = propose(holder, validator)

    assert paid(commit, validator) == [
        (index, TransferOutput(amount, owner)) for index, amount, owner in outputs
    ]
    renewed = commit.stakers.get(validator.tx_id)
    assert renewed is not None
    assert renewed.weight == STAKE + (0 if outputs else 1_100)


def test_rewards_that_have_no_room_are_paid() -> None:
    weight = CONFIG.max_validator_stake - 10
    holder, validator = due(AutoRenewal(NEXT, MILLION), delegatee_reward=500, weight=weight)
    commit, _ = propose(holder, validator)
    renewed = commit.stakers.get(validator.tx_id)

    assert renewed is not None
    assert renewed.weight == CONFIG.max_validator_stake
    assert terms_of(commit, validator) == AutoRenewal(NEXT, MILLION, 6, 4)
    assert paid(commit, validator) == [
        (0, TransferOutput(994, VALIDATION)),
        (1, TransferOutput(496, DELEGATION)),
    ]


def test_it_leaves_with_everything_if_it_has_no_next_period() -> None:
    holder, validator = due(AutoRenewal(0, MILLION, 50, 7), delegatee_reward=100)
    commit, _ = propose(holder, validator)

    assert commit.stakers.changes().left == (validator,)
    assert returned(commit, validator) == [(0, platform.transfer_output(STAKE))]
    assert paid(commit, validator) == [
        (0, TransferOutput(1_050, VALIDATION)),
        (1, TransferOutput(107, DELEGATION)),
    ]
    assert commit.supplies.get(PRIMARY_NETWORK_ID) == SUPPLY


@pytest.mark.parametrize("next_period", [0, NEXT])
def test_an_aborted_one_leaves_without_the_reward_of_this_period(next_period: int) -> None:
    holder, validator = due(AutoRenewal(next_period, 1, 50, 7), delegatee_reward=100)
    _, abort = propose(holder, validator)

    assert abort.stakers.changes().left == (validator,)
    assert returned(abort, validator) == [(0, platform.transfer_output(STAKE))]
    assert paid(abort, validator) == [
        (0, TransferOutput(50, VALIDATION)),
        (1, TransferOutput(107, DELEGATION)),
    ]
    assert abort.supplies.get(PRIMARY_NETWORK_ID) == SUPPLY - 1_000


def test_missing_rewards_leave_no_gap() -> None:
    holder, validator = due(AutoRenewal(0, 0), delegatee_reward=100, potential=0)
    for diff in propose(holder, validator):
        assert paid(diff, validator) == [(0, TransferOutput(100, DELEGATION))]


def test_stake_is_returned_after_the_outputs_of_the_first_transaction() -> None:
    holder = state(PURSE)
    change = platform.output(UNIT)
    validator = at_end(holder, seated(holder, outputs=(change,))).stakers
    (seat,) = validator.values()
    _, abort = propose(holder, seat)

    assert [index for index, _ in returned(abort, seat)] == [1]


def test_the_proposal_is_committed_or_aborted() -> None:
    holder, validator = due(AutoRenewal(NEXT, 0))
    statuses = [diff.txs.changes()[0][1] for diff in propose(holder, validator)]

    assert statuses == [TxStatus.COMMITTED, TxStatus.ABORTED]


@given(
    shares=st.integers(0, MILLION),
    potential=st.integers(0, 10**15),
    delegatee=st.integers(0, 10**15),
    room=st.integers(0, 10**15),
)
@settings(max_examples=cases(30), deadline=None)
def test_no_reward_is_lost_and_no_stake_is_too_great(
    shares: int, potential: int, delegatee: int, room: int
) -> None:
    weight = CONFIG.max_validator_stake - room
    holder, validator = due(
        AutoRenewal(NEXT, shares), delegatee_reward=delegatee, potential=potential, weight=weight
    )
    commit, _ = propose(holder, validator)
    renewed, terms = commit.stakers.get(validator.tx_id), terms_of(commit, validator)

    assert renewed is not None
    own, of_delegators = terms.accrued_validation_rewards, terms.accrued_delegatee_rewards
    assert 0 <= own <= split(potential, shares).delegatee
    assert 0 <= of_delegators <= split(delegatee, shares).delegatee
    assert renewed.weight == weight + own + of_delegators <= CONFIG.max_validator_stake
    amounts = sum(output.amount for _, output in paid(commit, validator))
    assert amounts + own + of_delegators == potential + delegatee


def refused(holder: MemoryState, tx: Tx, reason: StrEnum, words: str) -> None:
    commit, abort = Diff(holder), Diff(holder)
    with raises(reason, kind=InvalidTx) as raised:
        execute_reward(tx, commit, abort, ENV)
    assert str(raised.value) == words
    assert changes_of(commit) == changes_of(abort) == changes_of(Diff(holder))


def test_a_proposal_is_of_the_present_time() -> None:
    holder, validator = due(AutoRenewal(NEXT, 0))
    tx = ending(validator, timestamp=validator.end - 1)
    refused(holder, tx, AutoRenewalReason.WRONG_TIMESTAMP, "invalid timestamp")


def test_a_proposal_has_no_credentials() -> None:
    holder, validator = due(AutoRenewal(NEXT, 0))
    refused(
        holder,
        build(ending(validator).unsigned, platform.signed().credentials),
        TxSyntaxReason.CREDENTIALS_DIFFER_FROM_INPUTS,
        "should have the same number of credentials as inputs",
    )


def test_only_the_next_to_leave_is_rewarded() -> None:
    holder, validator = due(AutoRenewal(NEXT, 0))
    other = replace(validator, tx_id=platform.some_id("other"))
    refused(
        holder,
        ending(other),
        TxStateReason.WRONG_STAKER,
        f"attempting to remove wrong staker: {validator.tx_id} != {other.tx_id}",
    )


def test_a_period_does_not_end_early() -> None:
    holder, validator = due(AutoRenewal(NEXT, 0))
    later = replace(validator, end=validator.end + 1)
    holder.stakers[validator.tx_id] = later
    refused(
        holder,
        ending(validator),
        TxStateReason.STAKER_NOT_DUE,
        f"attempting to remove staker before their end time: TxID = {validator.tx_id} "
        "with 2023-11-14 23:13:20 +0000 UTC < 2023-11-14 23:13:21 +0000 UTC",
    )


def test_the_other_proposal_does_not_reward_it() -> None:
    holder, validator = due(AutoRenewal(NEXT, 0))
    refused(
        holder,
        build(RewardValidatorTx(validator.tx_id), ()),
        AutoRenewalReason.AUTO_RENEWED_STAKER,
        "unexpected staker transaction type: *txs.AddAutoRenewedValidatorTx",
    )


def test_other_stakers_are_not_renewed() -> None:
    holder = state()
    ordinary = joined(holder, staking(AddPermissionlessValidatorTx, start=NOW - DAY, end=NOW))
    refused(
        holder, ending(ordinary), AutoRenewalReason.NOT_AUTO_RENEWED, "expected auto renewed staker"
    )


def test_a_delegator_s_reward_accrues_with_the_fee_of_an_auto_renewed_validator() -> None:
    holder = state(PURSE)
    validator = seated(holder, period=2 * DAY, delegation_shares=250_000)
    tx = staking(AddPermissionlessDelegatorTx, start=NOW, end=NOW + DAY)
    delegator = joined(holder, tx, priority=Priority.PRIMARY_DELEGATOR_PENDING)
    holder.stakers[tx.tx_id] = replace(delegator, start=NOW, potential_reward=1_001)
    at_end(holder, delegator)
    commit, abort = Diff(holder), Diff(holder)
    execute_reward(build(proposal_for(delegator, holder), ()), commit, abort, ENV)

    assert commit.stakers.delegatee_reward(validator.tx_id) == 251
    assert abort.stakers.delegatee_reward(validator.tx_id) == 0


def test_the_builder_proposes_the_end_of_a_period_and_then_the_next_one() -> None:
    holder, validator = due(AutoRenewal(NEXT, MILLION))
    parent = genesis_block(b"genesis")
    ends = []
    for _ in range(3):
        built = build_block(parent, holder, (), env(config=CONFIG, now=NOW + DAY))
        assert isinstance(built.block, BanffProposalBlock)
        assert built.block.proposal is not None
        staker = next(holder.stakers.current())
        expected = RewardAutoRenewedValidatorTx(validator.tx_id, staker.end)
        assert built.block.proposal.unsigned == expected
        ends.append(built.block.time)
        assert built.outcome is not None
        holder.accept(built.outcome.commit)  # type: ignore[union-attr]  # of a proposal
        parent = built.block
    assert ends == [validator.end, validator.end + NEXT, validator.end + 2 * NEXT]
    assert staker_to_reward(holder) is None
