"""Rows of uptimes: which nodes were online, and for how long."""

import pytest

from platform_app import models
from platform_app.apps import platform_chain
from platform_app.store import uptime
from platform_app.store.state import DatabaseState
from primitives.hashing import sha256
from primitives.ids import NodeID
from tests.builders import platform
from tests.builders.platform_rows import accept, adding, begin, reward

pytestmark = pytest.mark.django_db

START = platform.NOW
END = START + 1000
FIRST, SECOND = (NodeID(sha256(name)[:20]) for name in (b"first", b"second"))


@pytest.fixture(autouse=True)
def validators() -> None:
    changes = [adding(node_id=node, start=START, end=END)[1] for node in (FIRST, SECOND)]
    begin(*changes)


def of(node_id: NodeID) -> uptime.Uptime:
    (found,) = uptime.uptimes(platform_chain().db, [node_id])
    return found


def test_untracked_validators_count_as_online() -> None:
    assert uptime.tracking(platform_chain().db) is None
    assert of(FIRST).fraction(START + 500, tracking=False) == 1.0
    assert of(FIRST).fraction(START + 500) == 0.0


def test_at_its_very_start_a_validator_was_always_online() -> None:
    assert of(FIRST).fraction(START) == 1.0
    assert of(FIRST).fraction(START - 1) == 1.0


def test_time_before_tracking_counts_and_time_offline_since_does_not() -> None:
    uptime.settle_all(platform_chain().db, START + 100, tracking=False)
    uptime.settle(platform_chain().db, [FIRST], START + 150)
    uptime.connect(platform_chain().db, [FIRST], START + 150)

    assert of(FIRST).up_until(START + 200) == 100 + 50
    assert of(SECOND).up_until(START + 200) == 100
    assert of(FIRST).fraction(START + 200) == 0.75
    assert of(FIRST).connected_since == START + 150


def test_disconnected_validator_keeps_its_uptime() -> None:
    uptime.connect(platform_chain().db, [FIRST, SECOND], START + 10)
    uptime.settle(platform_chain().db, [FIRST], START + 40)
    uptime.disconnect(platform_chain().db, [FIRST])

    assert of(FIRST).up_until(START + 100) == 30
    assert of(FIRST).connected_since is None
    assert of(SECOND).up_until(START + 100) == 90
    uptime.settle(platform_chain().db, [FIRST], START + 60)
    uptime.connect(platform_chain().db, [FIRST], START + 60)
    assert of(FIRST).up_until(START + 100) == 30 + 40


def test_a_node_that_is_connected_when_it_becomes_a_validator_is_online_from_its_start_on() -> None:
    node = NodeID(sha256(b"third")[:20])
    uptime.connect(platform_chain().db, [node], START - 500)
    accept(adding(node_id=node, start=START + 1, end=END)[1])

    assert of(node).up_until(START + 301) == 300
    assert of(node).fraction(START + 301) == 1.0


def test_uptime_ends_with_the_staking_period() -> None:
    uptime.connect(platform_chain().db, [FIRST], START + 500)
    assert of(FIRST).fraction(END + 10_000) == 0.5

    uptime.settle_all(platform_chain().db, END + 10_000, tracking=True)

    assert (of(FIRST).up_duration, of(FIRST).last_updated) == (500, END)
    assert of(SECOND).up_duration == 0
    assert of(FIRST).fraction(END) == 0.5


def test_uptime_before_the_last_update_is_that_of_the_update() -> None:
    uptime.connect(platform_chain().db, [FIRST], START + 400)
    uptime.settle_all(platform_chain().db, START + 800, tracking=True)

    assert of(FIRST).fraction(START + 500) == 0.5


def test_settling_changes_no_answer_about_later() -> None:
    uptime.connect(platform_chain().db, [FIRST], START + 100)
    before = [of(node).up_until(START + 900) for node in (FIRST, SECOND)]

    for moment in (START + 50, START + 300, START + 300, START + 600):
        uptime.settle_all(platform_chain().db, moment, tracking=True)

    assert [of(node).up_until(START + 900) for node in (FIRST, SECOND)] == before


def test_uptimes_list_current_validators_and_keep_old_rows() -> None:
    leaving = DatabaseState(platform_chain().db).stakers.get(of(FIRST).tx_id)
    assert leaving is not None
    reward(leaving)

    assert uptime.uptimes(platform_chain().db, [FIRST]) == []
    assert [item.node_id for item in uptime.uptimes(platform_chain().db)] == [SECOND]
    assert models.ValidatorUptime.objects.count() == 2


@pytest.mark.parametrize(("tracking", "seconds"), [([], 1000), ([START], 600)])
def test_leaving_validator_keeps_its_last_uptime(tracking: list[int], seconds: int) -> None:
    leaving = DatabaseState(platform_chain().db).stakers.get(of(FIRST).tx_id)
    assert leaving is not None
    uptime.connect(platform_chain().db, [FIRST], START + 400)
    for began_at in tracking:
        uptime.claim(platform_chain().db, began_at)

    reward(leaving)

    row = models.ValidatorUptime.objects.get(staker=leaving.tx_id)
    assert (row.up_duration, row.last_updated) == (seconds, END)


def test_untracked_time_counts_as_online() -> None:
    uptime.claim(platform_chain().db, START)
    uptime.learn(platform_chain().db, [FIRST], START + 600)

    assert of(FIRST).fraction(START + 800) == 0.75
    assert of(SECOND).fraction(START + 800) == 0.0
