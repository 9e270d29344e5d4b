"""The proposal to reward a staker: both options, and the preferred one (pchain.md 7.3, 7.4)."""

from enum import StrEnum
from typing import Any

import pytest

from platform_app.config import DAY, UNIT
from platform_app.executor.errors import TxStateReason
from platform_app.executor.proposal import execute_reward, prefers_commit, staker_to_reward
from platform_app.executor.rewards import split
from platform_app.state.chain import Diff
from platform_app.state.stakers import Priority, Staker
from platform_app.txs.base import Tx, TxStatus
from platform_app.txs.codec import build
from platform_app.txs.errors import TxSyntaxReason
from platform_app.txs.staking import (
    AddDelegatorTx,
    AddPermissionlessDelegatorTx,
    AddPermissionlessValidatorTx,
    AddValidatorTx,
    AdvanceTimeTx,
    RewardValidatorTx,
)
from primitives.ids import EMPTY_ID, PRIMARY_NETWORK_ID
from tests.builders import platform
from tests.builders.platform_state import (
    ENV,
    SUPPLY,
    MemoryState,
    changes_of,
    joined,
    staker,
    stakers,
    staking,
    state,
)
from tests.builders.reasons import raises
from utxo.components import TransferOutput
from utxo.errors import InvalidTx

NOW = platform.NOW
VALIDATORS, DELEGATIONS, OTHERS = map(platform.owners, platform.ADDRESSES[:3])
PERIOD = {"start": NOW - 30 * DAY, "end": NOW}
KINDS = {
    AddValidatorTx: Priority.PRIMARY_VALIDATOR_PENDING,
    AddPermissionlessValidatorTx: Priority.PRIMARY_VALIDATOR_PENDING,
    AddDelegatorTx: Priority.PRIMARY_DELEGATOR_SCHEDULED_PENDING,
    AddPermissionlessDelegatorTx: Priority.PRIMARY_DELEGATOR_PENDING,
}


def seat(holder: MemoryState, kind: type, **changes: Any) -> tuple[Tx, Staker]:
    """Add a staker whose end is `NOW`, with a transaction that has one change output."""
    owners = {
        AddValidatorTx: {"rewards_owner": VALIDATORS},
        AddPermissionlessValidatorTx: {
            "validation_rewards_owner": VALIDATORS,
            "delegation_rewards_owner": DELEGATIONS,
        },
        AddDelegatorTx: {"rewards_owner": OTHERS},
        AddPermissionlessDelegatorTx: {"rewards_owner": OTHERS},
    }
    fields = {**PERIOD, **owners[kind], "outputs": platform.outputs(UNIT), **changes}
    tx = staking(kind, **fields)
    return tx, joined(holder, tx, priority=KINDS[kind])


def propose(holder: MemoryState, tx_id: Any) -> tuple[Diff, Diff]:
    commit, abort = Diff(holder), Diff(holder)
    execute_reward(build(RewardValidatorTx(tx_id), ()), commit, abort, ENV)
    return commit, abort


def paid(diff: Diff) -> list[tuple[int, Any]]:
    """Return the index and output of all UTXOs that a diff creates."""
    return [(utxo.output_index, utxo.output) for utxo in diff.utxos.changes().produced]


@pytest.mark.parametrize("kind", [AddValidatorTx, AddPermissionlessValidatorTx])
def test_a_rewarded_validator_gets_its_stake_and_its_reward(kind: type) -> None:
    holder = state()
    tx, validator = seat(holder, kind)
    commit, _ = propose(holder, tx.tx_id)

    assert paid(commit) == [
        (1, platform.transfer_output(2_000 * UNIT)),
        (2, TransferOutput(validator.potential_reward, VALIDATORS)),
    ]
    assert {utxo.tx_id for utxo in commit.utxos.changes().produced} == {tx.tx_id}
    assert [utxo.output_index for _, utxo in commit.utxos.changes().rewards] == [2]
    assert commit.supplies.get(PRIMARY_NETWORK_ID) == SUPPLY + validator.potential_reward


@pytest.mark.parametrize("kind", [AddValidatorTx, AddPermissionlessValidatorTx])
def test_an_unrewarded_validator_gets_its_stake_and_supply_shrinks(kind: type) -> None:
    holder = state()
    tx, validator = seat(holder, kind)
    _, abort = propose(holder, tx.tx_id)

    assert validator.potential_reward > 0
    assert paid(abort) == [(1, platform.transfer_output(2_000 * UNIT))]
    assert abort.utxos.changes().rewards == ()
    assert abort.supplies.get(PRIMARY_NETWORK_ID) == SUPPLY


def test_the_staker_leaves_either_way() -> None:
    holder = state()
    tx, validator = seat(holder, AddValidatorTx)

    for diff in propose(holder, tx.tx_id):
        assert diff.stakers.changes().left == (validator,)
        assert list(diff.stakers.current()) == []


def test_the_proposal_is_committed_or_aborted() -> None:
    holder = state()
    tx, _ = seat(holder, AddValidatorTx)
    statuses = [diff.txs.changes()[0][1] for diff in propose(holder, tx.tx_id)]

    assert statuses == [TxStatus.COMMITTED, TxStatus.ABORTED]


def test_delegatee_reward_is_paid_after_the_validator_reward() -> None:
    holder = state()
    tx, validator = seat(holder, AddPermissionlessValidatorTx)
    holder.stakers.delegatee_rewards[tx.tx_id] = 77
    commit, abort = propose(holder, tx.tx_id)

    assert paid(commit)[1:] == [
        (2, TransferOutput(validator.potential_reward, VALIDATORS)),
        (3, TransferOutput(77, DELEGATIONS)),
    ]
    assert paid(abort)[1:] == [(2, TransferOutput(77, DELEGATIONS))]
    assert [utxo.output_index for _, utxo in abort.utxos.changes().rewards] == [2]


def test_older_validator_has_one_owner_for_both_rewards() -> None:
    holder = state()
    tx, _ = seat(holder, AddValidatorTx)
    holder.stakers.delegatee_rewards[tx.tx_id] = 77
    commit, _ = propose(holder, tx.tx_id)

    assert paid(commit)[-1] == (3, TransferOutput(77, VALIDATORS))


def test_delegatee_reward_takes_the_index_of_a_missing_reward() -> None:
    holder = state(supplies={PRIMARY_NETWORK_ID: platform.CONFIG.rewards.supply_cap})
    tx, validator = seat(holder, AddPermissionlessValidatorTx)
    holder.stakers.delegatee_rewards[tx.tx_id] = 77
    commit, abort = propose(holder, tx.tx_id)

    assert validator.potential_reward == 0
    assert paid(commit) == paid(abort)
    assert paid(commit)[1:] == [(2, TransferOutput(77, DELEGATIONS))]


def delegated(kind: type) -> tuple[MemoryState, Tx, Tx, Staker]:
    holder = state()
    validator, _ = seat(holder, AddPermissionlessValidatorTx, end=NOW + DAY, shares=300_000)
    tx, delegator = seat(holder, kind)
    return holder, validator, tx, delegator


@pytest.mark.parametrize("kind", [AddDelegatorTx, AddPermissionlessDelegatorTx])
def test_a_rewarded_delegator_shares_with_its_validator(kind: type) -> None:
    holder, validator, tx, delegator = delegated(kind)
    holder.stakers.delegatee_rewards[validator.tx_id] = 5
    commit, abort = propose(holder, tx.tx_id)
    parts = split(delegator.potential_reward, 300_000)

    assert paid(commit) == [
        (1, platform.transfer_output(25 * UNIT)),
        (2, TransferOutput(parts.delegator, OTHERS)),
    ]
    assert commit.stakers.delegatee_reward(validator.tx_id) == 5 + parts.delegatee
    assert parts.delegator + parts.delegatee == delegator.potential_reward > 0
    assert abort.stakers.delegatee_reward(validator.tx_id) == 5


@pytest.mark.parametrize("kind", [AddDelegatorTx, AddPermissionlessDelegatorTx])
def test_an_unrewarded_delegator_gets_its_stake_and_supply_shrinks(kind: type) -> None:
    holder, _, tx, delegator = delegated(kind)
    before = holder.supplies[PRIMARY_NETWORK_ID]
    _, abort = propose(holder, tx.tx_id)

    assert paid(abort) == [(1, platform.transfer_output(25 * UNIT))]
    assert abort.supplies.get(PRIMARY_NETWORK_ID) == before - delegator.potential_reward


def test_a_validator_that_takes_everything_leaves_its_delegator_none() -> None:
    holder = state()
    validator, _ = seat(holder, AddPermissionlessValidatorTx, end=NOW + DAY, shares=1_000_000)
    tx, delegator = seat(holder, AddPermissionlessDelegatorTx)
    commit, _ = propose(holder, tx.tx_id)

    assert paid(commit) == [(1, platform.transfer_output(25 * UNIT))]
    assert commit.stakers.delegatee_reward(validator.tx_id) == delegator.potential_reward


def test_locked_stake_is_returned_locked() -> None:
    stake = (platform.output(2_000 * UNIT, stakeable_until=NOW + DAY),)
    holder = state()
    tx, _ = seat(holder, AddValidatorTx, stake=stake)

    for diff in propose(holder, tx.tx_id):
        assert paid(diff)[0] == (1, stake[0].output)


def refused(holder: MemoryState, tx: Tx, reason: StrEnum, words: str) -> None:
    commit, abort = Diff(holder), Diff(holder)
    with raises(reason, kind=InvalidTx) as raised:
        execute_reward(tx, commit, abort, ENV)
    assert str(raised.value) == words
    assert changes_of(commit) == changes_of(abort) == changes_of(Diff(holder))


def reward(name: str = "staker") -> Tx:
    return build(RewardValidatorTx(platform.some_id(name)), ())


def test_only_rewards_are_proposed() -> None:
    for tx in (platform.signed(), platform.signed(AdvanceTimeTx)):
        refused(state(), tx, TxStateReason.WRONG_TX_TYPE, "wrong transaction type")


def test_a_proposal_has_no_credentials() -> None:
    tx = build(reward().unsigned, platform.signed().credentials)

    refused(
        state(),
        tx,
        TxSyntaxReason.CREDENTIALS_DIFFER_FROM_INPUTS,
        "should have the same number of credentials as inputs",
    )


def test_a_proposal_names_a_staker() -> None:
    refused(
        state(),
        build(RewardValidatorTx(EMPTY_ID), ()),
        TxSyntaxReason.EMPTY_STAKER_ID,
        "invalid ID",
    )


def test_reward_without_stakers_is_refused() -> None:
    refused(
        state(), reward(), TxStateReason.NO_STAKER, "failed to get next staker to remove: not found"
    )


def test_only_the_next_to_leave_is_rewarded() -> None:
    first = staker("first", end=NOW)
    holder = state(stakers=stakers(first, staker("second", end=NOW + 1)))

    refused(
        holder,
        reward("second"),
        TxStateReason.WRONG_STAKER,
        f"attempting to remove wrong staker: {first.tx_id} != {platform.some_id('second')}",
    )


def test_reward_before_the_end_is_refused() -> None:
    refused(
        state(stakers=stakers(staker(end=NOW + 1))),
        reward(),
        TxStateReason.STAKER_NOT_DUE,
        f"attempting to remove staker before their end time: TxID = {platform.some_id('staker')} "
        "with 2023-11-14 22:13:20 +0000 UTC < 2023-11-14 22:13:21 +0000 UTC",
    )


def test_a_delegator_is_rewarded_before_its_validator() -> None:
    holder = state()
    seat(holder, AddPermissionlessValidatorTx)
    tx, _ = seat(holder, AddDelegatorTx)

    due = staker_to_reward(holder)

    assert due is not None
    assert due.tx_id == tx.tx_id


def test_no_staker_is_due_before_its_end() -> None:
    assert staker_to_reward(state()) is None
    assert staker_to_reward(state(stakers=stakers(staker(end=NOW + 1)))) is None


@pytest.mark.parametrize("uptime", [None, 1.0, 0.8])
def test_commit_is_preferred_if_nothing_speaks_against_it(uptime: float | None) -> None:
    assert prefers_commit(uptime, platform.CONFIG.uptime_requirement)


@pytest.mark.parametrize("uptime", [0.7999, 0.0])
def test_abort_is_preferred_if_the_node_was_away(uptime: float) -> None:
    assert not prefers_commit(uptime, platform.CONFIG.uptime_requirement)
