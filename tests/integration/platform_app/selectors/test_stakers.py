"""Validators: current ones from memory, those of any height from rows."""

import re

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test.utils import CaptureQueriesContext

from platform_app.apps import platform_chain
from platform_app.chain import NoPlatformGenesis
from platform_app.memory.stakers import SUBNETS, Member
from platform_app.selectors import stakers
from platform_app.state.chain import Diff
from platform_app.state.stakers import AutoRenewal, Priority
from platform_app.txs import subnets
from platform_app.txs.base import BaseTx, TxStatus
from primitives.hashing import sha256
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID
from tests.builders import platform
from tests.builders.platform_rows import (
    Change,
    accept,
    adding,
    adding_auto_renewed,
    adding_tx,
    begin,
    reward,
)
from tests.integration.admin_pages import Page

pytestmark = pytest.mark.django_db

NODE, OTHER = platform.NODE_ID, NodeID(sha256(b"other")[:20])
DELEGATOR = Priority.PRIMARY_DELEGATOR_CURRENT
PERMISSIONED = Priority.PERMISSIONED_VALIDATOR_CURRENT
STAKE = platform.CONFIG.min_validator_stake


def test_validators_without_genesis_are_refused() -> None:
    with pytest.raises(NoPlatformGenesis):
        stakers.current_validators(platform_chain())
    with pytest.raises(NoPlatformGenesis):
        stakers.validators_at(platform_chain(), 0)


def test_staker_record_has_the_fields_of_its_transaction() -> None:
    first, second = (platform.owners(address) for address in platform.ADDRESSES[:2])
    validator, add = adding(
        potential_reward=7,
        of_tx={"validation_rewards_owner": first, "delegation_rewards_owner": second},
    )
    begin(add, lambda diff: diff.stakers.set_delegatee_reward(validator.tx_id, 3))

    (record,) = stakers.current_validators(platform_chain()).validators

    assert (record.tx_id, record.node_id, record.subnet_id) == (
        validator.tx_id, NODE, PRIMARY_NETWORK_ID,
    )  # fmt: skip
    assert (record.start, record.end, record.weight) == (validator.start, validator.end, STAKE)
    assert (record.potential_reward, record.delegatee_reward, record.shares) == (7, 3, 20_000)
    assert (record.rewards_owner, record.delegation_rewards_owner) == (first, second)
    signer = platform.proof_of_possession()
    assert (record.public_key, record.proof_of_possession) == (
        signer.public_key, signer.proof_of_possession,
    )  # fmt: skip
    assert (record.delegator_count, record.delegator_weight) == (0, 0)


def test_delegators_are_counted_for_their_own_validator() -> None:
    begin(
        adding()[1],
        adding(node_id=OTHER)[1],
        adding(DELEGATOR, weight=25_000_000)[1],
        adding(DELEGATOR, weight=26_000_000)[1],
        adding(Priority.PRIMARY_DELEGATOR_PENDING, weight=27_000_000)[1],
    )

    current = stakers.current_validators(platform_chain())

    found = current.by_node[NODE]
    assert (found.delegator_count, found.delegator_weight) == (2, 51_000_000)
    other = current.by_node[OTHER]
    assert (other.delegator_count, other.delegator_weight) == (0, 0)
    assert current.weight == 2 * STAKE + 51_000_000
    delegators = stakers.current_delegators(platform_chain(), PRIMARY_NETWORK_ID, NODE)
    assert {delegator.weight for delegator in delegators} == {25_000_000, 26_000_000}
    assert [delegator.tx_id for delegator in delegators] == sorted(
        item.tx_id for item in delegators
    )
    assert stakers.current_delegators(platform_chain(), PRIMARY_NETWORK_ID, OTHER) == ()


def test_validators_are_in_staker_order() -> None:
    late, add_late = adding(end=platform.NOW + 900)
    early, add_early = adding(node_id=OTHER, end=platform.NOW + 800)
    begin(add_late, add_early)

    found = [
        validator.tx_id for validator in stakers.current_validators(platform_chain()).validators
    ]

    assert found == [early.tx_id, late.tx_id]


def test_the_present_is_read_once_and_again_after_a_staker_changed() -> None:
    begin(adding()[1])
    first = stakers.current_validators(platform_chain())
    accept(adding_tx(platform.signed(BaseTx)))

    with CaptureQueriesContext(connection) as asked:
        assert stakers.current_validators(platform_chain()) is first
    assert len(asked) == 1

    accept(adding(node_id=OTHER)[1])
    assert set(stakers.current_validators(platform_chain()).by_node) == {NODE, OTHER}
    assert stakers.current_validators(platform_chain()) is not first


def test_terms_of_renewal_are_read_by_the_validators_that_are_current() -> None:
    terms = AutoRenewal(next_period=10, compound_shares=0)
    period = {"start": platform.NOW, "end": platform.NOW + 10, "weight": STAKE}
    left, add_left = adding_auto_renewed(terms, **period)
    current, add_current = adding_auto_renewed(terms, node_id=OTHER, **period)
    begin(add_left, add_current)
    reward(left)
    asked = Page(HttpResponse(), "platform_app")

    with connection.execute_wrapper(asked.note):
        (found,) = stakers.current_validators(platform_chain()).validators

    assert found.tx_id == current.tx_id
    assert found.renewal is not None
    assert found.renewal.next_period == 10
    plans = zip(asked.chain_statements, asked.plans(), strict=True)
    (plan,) = (plan for (sql, _), plan in plans if "autorenewedvalidator" in sql)
    assert not any(step.startswith(("SCAN", "Seq Scan", "->  Seq Scan")) for step in plan), plan
    if connection.vendor == "sqlite":  # PostgreSQL may take any index of so few rows
        # The indexes that have no stakers who have left.
        by_index = re.compile("platform_one_validator_a_node|platform_current_order")
        assert by_index.search(str(plan)), plan


def test_delegatee_reward_is_always_current() -> None:
    validator, add = adding()
    begin(add)
    assert stakers.current_validators(platform_chain()).by_node[NODE].delegatee_reward == 0
    accept(lambda diff: diff.stakers.set_delegatee_reward(validator.tx_id, 4))

    assert stakers.current_validators(platform_chain()).by_node[NODE].delegatee_reward == 4


def test_delegators_are_read_again_after_a_staker_changed() -> None:
    begin(adding()[1])
    assert stakers.current_delegators(platform_chain(), PRIMARY_NETWORK_ID, NODE) == ()
    delegator, add = adding(DELEGATOR, weight=25_000_000)
    accept(add)

    (found,) = stakers.current_delegators(platform_chain(), PRIMARY_NETWORK_ID, NODE)
    assert (found.tx_id, found.rewards_owner) == (delegator.tx_id, platform.owners())


def test_a_validator_of_a_subnet_has_no_owner_and_no_fee() -> None:
    begin(adding(PERMISSIONED, weight=2**64 - 1)[1])

    (record,) = stakers.current_validators(platform_chain(), platform.SUBNET_ID).validators

    assert (record.weight, record.shares, record.rewards_owner) == (2**64 - 1, None, None)
    assert stakers.current_validators(platform_chain()).validators == ()


def test_pending_stakers_are_in_order_of_their_start() -> None:
    later, add_later = adding(Priority.PRIMARY_VALIDATOR_PENDING, start=platform.NOW + 90)
    sooner, add_sooner = adding(
        Priority.PRIMARY_VALIDATOR_PENDING, node_id=OTHER, start=platform.NOW + 80
    )
    delegator, add = adding(Priority.PRIMARY_DELEGATOR_SCHEDULED_PENDING, weight=25_000_000)
    begin(add_later, add_sooner, add, adding(Priority.PERMISSIONED_VALIDATOR_PENDING)[1])

    found = stakers.pending_stakers(platform_chain())

    assert [validator.tx_id for validator in found.validators] == [sooner.tx_id, later.tx_id]
    assert [item.tx_id for item in found.delegators] == [delegator.tx_id]
    assert len(stakers.pending_stakers(platform_chain(), platform.SUBNET_ID).validators) == 1


def test_every_height_keeps_its_validators() -> None:
    validator, add = adding()
    begin(add)
    delegator, delegate = adding(DELEGATOR, weight=25_000_000, end=platform.NOW + 100)
    accept(delegate)
    accept(adding_tx(platform.signed(BaseTx)))
    reward(delegator)
    accept(adding(node_id=OTHER)[1])
    reward(validator)

    key = platform.proof_of_possession().public_key
    alone, both = Member(STAKE, key), Member(STAKE + 25_000_000, key)
    expected = {
        0: {NODE: alone},
        1: {NODE: both},
        2: {NODE: both},
        3: {NODE: both},
        4: {NODE: alone},
        5: {NODE: alone, OTHER: alone},
        6: {NODE: alone, OTHER: alone},
        7: {OTHER: alone},
    }
    assert {
        height: stakers.validators_at(platform_chain(), height) for height in range(8)
    } == expected
    assert stakers.validators_at(platform_chain(), 8) is None


def test_on_a_subnet_validators_have_their_key_of_the_primary_network() -> None:
    begin(adding()[1], adding(PERMISSIONED, weight=5)[1])
    accept(adding(PERMISSIONED, node_id=OTHER, weight=6)[1])

    assert stakers.validators_at(platform_chain(), 1, platform.SUBNET_ID) == {
        NODE: Member(5, platform.proof_of_possession().public_key),
        OTHER: Member(6, None),
    }
    assert stakers.validators_at(platform_chain(), 0, platform.some_id("no subnet")) == {}


def test_all_sets_of_a_height_are_those_of_each_subnet() -> None:
    (first, add_first), (second, add_second), (_, add_empty) = map(creating, (b"1", b"2", b"3"))
    begin(
        add_first,
        add_second,
        add_empty,
        adding()[1],
        adding(PERMISSIONED, subnet_id=first, weight=5)[1],
    )
    leaving, add = adding(PERMISSIONED, subnet_id=second, node_id=OTHER, weight=6)
    accept(add)
    accept(adding(DELEGATOR, weight=25_000_000)[1])
    accept(lambda diff: diff.stakers.remove(leaving))

    for height in range(4):
        each = {
            subnet_id: stakers.validators_at(platform_chain(), height, subnet_id)
            for subnet_id in (PRIMARY_NETWORK_ID, first, second)
        }
        found = stakers.all_validators_at(platform_chain(), height)
        assert found == {subnet_id: members for subnet_id, members in each.items() if members}
        assert (second in found) == (height in {1, 2})
    assert stakers.all_validators_at(platform_chain(), 4) is None


def test_all_validator_sets_take_a_constant_number_of_statements() -> None:
    counts = []
    begin(adding()[1])
    for number in range(3):
        subnet_id, create = creating(b"%d" % number)
        accept(create, adding(PERMISSIONED, subnet_id=subnet_id)[1])
        with CaptureQueriesContext(connection) as asked:
            found = stakers.all_validators_at(platform_chain(), number + 1)
        assert found is not None
        assert len(found) == number + 2
        counts.append(len(asked))

    assert counts[0] == counts[1] == counts[2]


def test_subnets_without_validators_do_not_drive_out_those_with_some() -> None:
    begin(adding()[1])
    first, at = (
        stakers.current_validators(platform_chain()),
        stakers.validators_at(platform_chain(), 0),
    )
    for number in range(SUBNETS + 1):
        nowhere = platform.some_id(f"nowhere {number}")
        assert stakers.current_validators(platform_chain(), nowhere).validators == ()
        assert stakers.validators_at(platform_chain(), 0, nowhere) == {}

    assert stakers.current_validators(platform_chain()) is first
    assert stakers.validators_at(platform_chain(), 0) is at


def creating(name: bytes) -> tuple[ID, Change]:
    """Return a new subnet's ID, and the change that adds it with its transaction."""
    tx = platform.signed(subnets.CreateSubnetTx, memo=name)

    def change(diff: Diff) -> None:
        diff.txs.add(tx, TxStatus.COMMITTED)
        diff.subnets.add(tx.tx_id, platform.owners())

    return tx.tx_id, change


def test_heights_since_the_last_change_share_an_answer() -> None:
    begin(adding()[1])
    for number in range(3):
        accept(adding_tx(platform.signed(BaseTx, memo=b"%d" % number)))

    assert stakers.validators_at(platform_chain(), 0) is stakers.validators_at(platform_chain(), 3)


def test_uptimes_are_by_node() -> None:
    begin(adding()[1], adding(node_id=OTHER)[1], adding(PERMISSIONED)[1])

    assert set(stakers.uptimes(platform_chain())) == {NODE, OTHER}
    assert set(stakers.uptimes(platform_chain(), [OTHER])) == {OTHER}
