"""Who was online, and for how long."""

import pytest

from platform_app import models
from platform_app.store import uptime
from platform_app.store.state import DatabaseState
from primitives.hashing import sha256
from primitives.ids import NodeID
from tests.builders import platform
from tests.builders.platform_rows import adding, begin, reward

pytestmark = pytest.mark.django_db

START = platform.NOW
FIRST, SECOND = (NodeID(sha256(name)[:20]) for name in (b"first", b"second"))


@pytest.fixture(autouse=True)
def validators() -> None:
    changes = [adding(node_id=node, start=START, end=START + 1000)[1] for node in (FIRST, SECOND)]
    begin(*changes)


def of(node_id: NodeID) -> uptime.Uptime:
    (found,) = uptime.uptimes([node_id])
    return found


def test_while_nobody_looks_everybody_counts_as_online() -> None:
    assert of(FIRST).fraction(START + 500, tracking=False) == 1.0
    assert of(FIRST).fraction(START + 500) == 0.0


def test_at_its_very_start_a_validator_was_always_online() -> None:
    assert of(FIRST).fraction(START) == 1.0
    assert of(FIRST).fraction(START - 1) == 1.0


def test_time_before_tracking_counts_and_time_offline_since_does_not() -> None:
    uptime.begin(START + 100)
    uptime.connect([FIRST], START + 150)

    assert of(FIRST).up_until(START + 200) == 100 + 50
    assert of(SECOND).up_until(START + 200) == 100
    assert of(FIRST).fraction(START + 200) == 0.75
    assert of(FIRST).connected_since == START + 150


def test_a_disconnected_validator_keeps_what_it_had() -> None:
    uptime.begin(START)
    uptime.connect([FIRST, SECOND], START + 10)
    uptime.disconnect([FIRST], START + 40)

    assert of(FIRST).up_until(START + 100) == 30
    assert of(FIRST).connected_since is None
    assert of(SECOND).up_until(START + 100) == 90
    uptime.connect([FIRST], START + 60)
    assert of(FIRST).up_until(START + 100) == 30 + 40


def test_connecting_twice_or_leaving_without_having_come_changes_nothing() -> None:
    uptime.begin(START)
    uptime.connect([FIRST], START + 10)
    uptime.connect([FIRST], START + 20)
    uptime.disconnect([SECOND], START + 20)

    assert of(FIRST).connected_since == START + 10
    assert of(SECOND).last_updated == START


def test_a_restart_counts_the_time_in_between() -> None:
    uptime.begin(START)
    uptime.connect([FIRST], START)
    uptime.disconnect([FIRST], START + 10)
    uptime.begin(START + 50)

    assert of(FIRST).up_until(START + 60) == 50


def test_only_present_validators_have_an_uptime_and_its_row_stays() -> None:
    leaving = DatabaseState().staker(of(FIRST).tx_id)
    assert leaving is not None
    reward(leaving)

    assert uptime.uptimes([FIRST]) == []
    assert [one.node_id for one in uptime.uptimes()] == [SECOND]
    assert models.ValidatorUptime.objects.count() == 2
