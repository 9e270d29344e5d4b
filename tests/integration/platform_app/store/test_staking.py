"""A staker's row is updated from the block with its transaction to the block in which it leaves."""

import pytest
from django.db import IntegrityError, connection
from django.test.utils import CaptureQueriesContext

from platform_app import models
from platform_app.apps import platform_chain
from platform_app.models import Outcome, Phase
from platform_app.state.chain import Diff
from platform_app.state.stakers import Priority, Staker
from platform_app.store.state import DatabaseState
from platform_app.txs import subnets
from platform_app.txs.base import TxStatus
from platform_app.txs.codec import CODEC
from primitives.hashing import sha256
from primitives.ids import NodeID
from tests.builders import platform
from tests.builders.platform_rows import Change, accept, adding, begin, reward
from utxo.well_formed import sort_outputs

pytestmark = pytest.mark.django_db


def row(staker: Staker) -> models.Staker:
    return models.Staker.objects.get(tx_id=staker.tx_id)


def removing(staker: Staker) -> Change:
    def change(diff: Diff) -> None:
        tx = platform.signed(subnets.RemoveSubnetValidatorTx, node_id=staker.node_id)
        diff.txs.add(tx, TxStatus.COMMITTED)
        diff.stakers.remove(staker)

    return change


def test_a_validator_is_written_with_all_that_its_record_shows() -> None:
    first, second = (platform.owners(address) for address in platform.ADDRESSES[:2])
    signer = platform.proof_of_possession()
    validator, add = adding(
        potential_reward=12,
        of_tx={"validation_rewards_owner": first, "delegation_rewards_owner": second},
    )
    begin()
    accept(add)

    found = row(validator)
    assert (found.phase, found.is_delegator, found.shares) == (Phase.CURRENT, False, 20_000)
    assert (found.public_key, found.proof_of_possession) == (
        signer.public_key,
        signer.proof_of_possession,
    )
    assert found.rewards_owner != found.delegation_rewards_owner
    assert found.node == str(platform.NODE_ID)
    assert (found.added_height, found.joined_height, found.left_height) == (1, 1, None)


def test_a_pending_staker_becomes_current_and_keeps_its_row() -> None:
    begin()
    pending, add = adding(Priority.PRIMARY_VALIDATOR_PENDING)
    accept(add)
    assert row(pending).phase == Phase.PENDING
    assert row(pending).joined_height is None
    assert not models.ValidatorUptime.objects.exists()

    current = pending.promoted(potential_reward=2**64 - 1)
    accept(lambda diff: diff.stakers.put(current))

    found = row(pending)
    assert (found.phase, found.joined_height, found.added_height) == (Phase.CURRENT, 2, 1)
    assert found.potential_reward == 2**64 - 1
    assert DatabaseState(platform_chain().db).stakers.get(pending.tx_id) == current
    uptime = models.ValidatorUptime.objects.get()
    assert (uptime.staker_id, uptime.last_updated) == (pending.tx_id, pending.start)


@pytest.mark.parametrize(
    ("commit", "outcome"), [(True, Outcome.REWARDED), (False, Outcome.UNREWARDED)]
)
def test_staker_row_has_its_outcome(*, commit: bool, outcome: Outcome) -> None:
    validator, add = adding()
    begin(add)
    reward(validator, commit=commit)

    found = row(validator)
    assert (found.phase, found.outcome) == (Phase.PAST, outcome)
    assert (found.left_height, found.left_time) == (2, validator.end)
    assert DatabaseState(platform_chain().db).stakers.get(validator.tx_id) is None


def test_removed_validator_differs_from_an_ended_one() -> None:
    removed, add_first = adding(Priority.PERMISSIONED_VALIDATOR_CURRENT)
    other = NodeID(sha256(b"other")[:20])
    ended, add_second = adding(Priority.PERMISSIONED_VALIDATOR_CURRENT, node_id=other)
    begin(add_first, add_second)
    accept(removing(removed), lambda diff: diff.stakers.remove(ended))

    assert row(removed).outcome == Outcome.REMOVED
    assert row(ended).outcome == Outcome.ENDED
    assert (row(ended).shares, row(ended).rewards_owner) == (None, None)


def test_a_pending_validator_that_is_removed_never_joined() -> None:
    pending, add = adding(Priority.PERMISSIONED_VALIDATOR_PENDING)
    begin(add)
    accept(removing(pending))

    found = row(pending)
    assert (found.phase, found.joined_height, found.left_height) == (Phase.PAST, None, 1)


def test_validator_added_and_removed_in_a_block_is_kept() -> None:
    begin()
    came, add = adding(Priority.PERMISSIONED_VALIDATOR_CURRENT)
    accept(add, removing(came))

    found = row(came)
    assert (found.phase, found.outcome) == (Phase.PAST, Outcome.REMOVED)
    assert (found.added_height, found.joined_height, found.left_height) == (1, 1, 1)


def test_a_seat_can_be_taken_in_the_block_in_which_another_leaves_it() -> None:
    first, add_first = adding()
    second, add_second = adding(of_tx={"shares": 50_000})
    begin(add_first)
    reward(first, add_second)

    assert (
        DatabaseState(platform_chain().db).stakers.validator(second.subnet_id, second.node_id)
        == second
    )
    assert row(first).left_height == row(second).joined_height == 2


def test_a_node_has_one_validator_record_on_a_subnet() -> None:
    _, first = adding()
    _, second = adding(Priority.PRIMARY_VALIDATOR_PENDING)
    begin(first)

    with pytest.raises(IntegrityError):
        accept(second)


def test_stake_is_kept_by_owner_until_the_staker_leaves() -> None:
    owner, other = platform.ADDRESSES[:2]
    stake = sort_outputs(
        (
            platform.output(1_500_000_000, owner, other),
            platform.output(500_000_000, owner, stakeable_until=9),
        ),
        CODEC,
    )
    validator, add = adding(of_tx={"stake": stake})
    begin()
    accept(add)

    owned = models.StakeOutput.objects.values_list("address", "amount")
    assert sorted(owned) == sorted(
        [(owner, 1_500_000_000), (other, 1_500_000_000), (owner, 500_000_000)]
    )

    reward(validator)
    assert not models.StakeOutput.objects.exists()


def test_a_delegator_has_one_rewards_owner_and_no_fee() -> None:
    _, validator = adding()
    delegator, add = adding(Priority.PRIMARY_DELEGATOR_CURRENT, weight=25_000_000)
    begin(validator)
    accept(add)

    found = row(delegator)
    assert (found.is_delegator, found.shares, found.delegation_rewards_owner) == (True, None, None)
    assert DatabaseState(platform_chain().db).stakers.delegators(
        delegator.subnet_id, delegator.node_id
    ) == (delegator,)
    assert models.ValidatorUptime.objects.count() == 1


def test_delegatee_rewards_add_up_on_the_validator_row() -> None:
    validator, add = adding()
    begin(add)
    accept(lambda diff: diff.stakers.set_delegatee_reward(validator.tx_id, 2**63 + 1))

    assert DatabaseState(platform_chain().db).stakers.delegatee_reward(validator.tx_id) == 2**63 + 1
    reward(validator)
    assert row(validator).delegatee_reward == 2**63 + 1


def test_looking_at_the_first_staker_reads_few() -> None:
    changes = [
        adding(Priority.PRIMARY_DELEGATOR_CURRENT, weight=25_000_000, end=platform.NOW + 100 + n)
        for n in range(200)
    ]
    begin(*(change for _, change in changes))
    state = DatabaseState(platform_chain().db)

    with CaptureQueriesContext(connection) as asked:
        first = next(state.stakers.current())
        assert next(state.stakers.current()) is first
    assert len(asked) == 1
    assert "LIMIT 3" in asked[0]["sql"]
    assert first == changes[0][0]


def test_a_walk_shows_each_staker_once_in_order() -> None:
    changes = [
        adding(Priority.PRIMARY_DELEGATOR_CURRENT, weight=25_000_000 + n, end=platform.NOW + 99)
        for n in range(150)
    ]
    begin(*(change for _, change in changes))
    expected = sorted((staker for staker, _ in changes), key=lambda staker: staker.order)
    state = DatabaseState(platform_chain().db)

    first, second = state.stakers.current(), state.stakers.current()
    assert [next(first) for _ in range(20)] == expected[:20]
    assert list(second) == expected
    assert list(first) == expected[20:]
    assert list(state.stakers.pending()) == []


def test_a_validator_of_the_older_kind_has_one_owner_for_both_rewards() -> None:
    older, add = adding(Priority.PRIMARY_VALIDATOR_PENDING)
    begin(add)

    found = row(older)
    assert found.rewards_owner == found.delegation_rewards_owner is not None
    assert (found.public_key, found.proof_of_possession) == (None, None)
    assert models.Tx.objects.get().get_kind_display() == "AddValidatorTx"
