"""Validator sets that outer blocks read from the P-Chain, and how rarely they are read."""

from collections.abc import Mapping

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from chaindb import clock
from network_app.chains.validators import LAG, PlatformValidators
from platform_app.apps import platform_chain
from primitives.ids import NodeID
from tests.integration.network_app.world import MAKER, World


def maker(_height: int) -> Mapping[NodeID, int]:
    return {MAKER.node_id: 1}


@pytest.fixture
def validators(world: World) -> PlatformValidators:
    return PlatformValidators(platform_chain(), maker)


def named(validators: PlatformValidators) -> int:
    return validators.minimum_height(clock.now())


def test_heights_are_those_of_accepted_blocks(world: World, validators: PlatformValidators) -> None:
    assert validators.current_height() == 0
    world.make_p()
    assert validators.current_height() == 1
    assert validators.proposers(1) == {MAKER.node_id: 1}


def test_a_height_is_named_half_a_minute_after_its_block(
    world: World, validators: PlatformValidators
) -> None:
    found = []
    for _ in range(6):
        world.make_p(after=10)
        found.append(named(validators))
    assert found == [0, 0, 0, 1, 2, 3]
    for seconds in range(30):
        world.wall.seconds += 1
        assert named(validators) == 3 + (seconds + 1) // 10
    world.wall.seconds += 1_000
    assert named(validators) == 6


def test_unchanged_validator_set_is_not_queried(
    world: World, validators: PlatformValidators
) -> None:
    world.make_p()
    world.wall.seconds += 10 * LAG
    assert named(validators) == 1
    now = clock.now()
    with CaptureQueriesContext(connection) as asked:
        assert {validators.minimum_height(now + later) for later in range(LAG)} == {1}
    assert len(asked) == 0
    world.make_p(after=0)
    assert named(validators) == 1
    world.wall.seconds += LAG
    assert named(validators) == 2


def test_a_clock_that_was_set_back_names_an_earlier_height(
    world: World, validators: PlatformValidators
) -> None:
    for _ in range(3):
        world.make_p(after=20)
    world.wall.seconds += 100
    assert named(validators) == 3
    world.wall.seconds -= 90
    assert named(validators) == 2
