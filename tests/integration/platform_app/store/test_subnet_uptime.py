"""Uptimes of the validators of subnets and L1s that a node tracks."""

from dataclasses import replace

import pytest

from platform_app import models
from platform_app.apps import platform_chain
from platform_app.selectors import subnet_uptimes
from platform_app.services import uptime
from platform_app.state.l1_validators import L1Validator
from platform_app.state.stakers import Priority
from platform_app.store import subnet_uptime
from platform_app.store.subnet_uptime import LATE, SubnetValidatorUptime
from platform_app.txs.l1 import PChainOwner
from primitives.hashing import sha256
from primitives.ids import NodeID
from tests.builders import own_node, platform
from tests.builders.platform_rows import accept, adding, begin

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("node_settings")]

START = platform.NOW
ONE, OTHER, THIRD = (NodeID(sha256(name)[:20]) for name in (b"one", b"other", b"third"))
SUBNET = platform.SUBNET_ID
OWNER = PChainOwner(1, (platform.ADDRESSES[0],))
FIRST = L1Validator(
    platform.some_id("first"), SUBNET, ONE, platform.proof_of_possession().public_key, OWNER, OWNER,
    START, 7, 0, 10**9,
)  # fmt: skip
SECOND = replace(FIRST, validation_id=platform.some_id("second"), node_id=OTHER)


@pytest.fixture(autouse=True)
def validators(monkeypatch: pytest.MonkeyPatch) -> None:
    own_node.be(monkeypatch, NodeID(sha256(b"own")[:20]))
    begin(adding()[1])
    accept(
        lambda diff: diff.l1_validators.put(FIRST),
        lambda diff: diff.l1_validators.put(SECOND),
    )


def observe(now: int, *connected: NodeID) -> None:
    uptime.observe(platform_chain(), connected, now, [SUBNET])


def seen(now: int) -> dict[NodeID, int]:
    chain = platform_chain()
    return {
        found.node_id: subnet_uptimes.seconds_online(chain, found, now)
        for found in subnet_uptimes.of_subnet(chain, SUBNET)
    }


def test_only_the_time_of_a_connection_counts() -> None:
    observe(START, ONE)
    assert seen(START + 50) == {ONE: 50, OTHER: 0}
    observe(START + 80, OTHER)
    observe(START + 130)
    assert seen(START + 200) == {ONE: 80, OTHER: 50}
    observe(START + 200, ONE)
    assert seen(START + 210) == {ONE: 90, OTHER: 50}


def test_the_time_before_this_node_tracked_counts() -> None:
    observe(START + 1_000, ONE)
    assert seen(START + 1_100) == {ONE: 1_100, OTHER: 1_000}
    uptime.begin(platform_chain(), START + 3_000, [SUBNET])
    assert seen(START + 3_000) == {ONE: 3_000, OTHER: 2_900 + 100}


def test_a_later_validator_counts_from_its_start() -> None:
    observe(START, ONE)
    third = replace(
        FIRST, validation_id=platform.some_id("third"), node_id=THIRD, start=START + 500
    )
    accept(lambda diff: diff.l1_validators.put(third))
    assert seen(START + 510)[THIRD] == 0
    observe(START + 520, ONE, THIRD)
    assert seen(START + 560)[THIRD] == 40


def test_inactive_time_does_not_count() -> None:
    observe(START, ONE)
    observe(START + 100, ONE)
    accept(lambda diff: diff.l1_validators.put(FIRST.deactivated()))
    observe(START + 300, ONE)
    assert seen(START + 400)[ONE] == 100
    accept(lambda diff: diff.l1_validators.put(FIRST))
    observe(START + 400, ONE)
    assert seen(START + 430)[ONE] == 100 + 130


def test_a_permissioned_validator_has_the_id_of_its_transaction() -> None:
    staker, change = adding(Priority.PERMISSIONED_VALIDATOR_CURRENT, node_id=THIRD, weight=3)
    accept(change)
    (found,) = (
        one for one in subnet_uptimes.of_subnet(platform_chain(), SUBNET) if one.node_id == THIRD
    )
    assert (found.validation_id, found.is_l1, found.weight) == (staker.tx_id, False, 3)
    chain = platform_chain()
    assert subnet_uptime.find(chain.db, SUBNET, staker.tx_id) == found
    first = subnet_uptime.find(chain.db, SUBNET, FIRST.validation_id)
    assert first is not None
    assert first in subnet_uptimes.of_subnet(chain, SUBNET)
    assert subnet_uptime.find(chain.db, platform.some_id("other"), staker.tx_id) is None


def test_removed_validators_are_forgotten() -> None:
    observe(START, ONE)
    observe(START + 100, ONE)
    assert models.SubnetUptime.objects.count() == 2
    accept(lambda diff: diff.l1_validators.put(replace(SECOND, weight=0)))
    observe(START + 200, ONE)
    assert [row.validation_id for row in models.SubnetUptime.objects.all()] == [FIRST.validation_id]


def test_a_node_without_peers_has_seen_only_itself() -> None:
    own = replace(
        FIRST, validation_id=platform.some_id("own"), node_id=platform_chain().node_id, start=START
    )
    accept(lambda diff: diff.l1_validators.put(own))
    assert seen(START + 60) == {ONE: 0, OTHER: 0, own.node_id: 60}
    assert subnet_uptimes.seconds_online_of(
        platform_chain(), SUBNET, own.validation_id, START + 60
    ) == 60  # fmt: skip
    assert subnet_uptimes.seconds_online_of(
        platform_chain(), SUBNET, platform.some_id("none"), START
    ) is None  # fmt: skip


def test_untracked_subnets_have_no_rows() -> None:
    uptime.observe(platform_chain(), [ONE], START + 10)
    uptime.observe(platform_chain(), [], START + 200)
    assert not models.SubnetUptime.objects.exists()


def test_a_validator_found_late_was_not_tracked() -> None:
    found = SubnetValidatorUptime(
        FIRST.validation_id, ONE, 1, START, True, True, None, None, None
    )  # fmt: skip
    assert found.known(START + LATE) == (0, START)
    assert found.known(START + LATE + 1) == (LATE + 1, START + LATE + 1)
