"""The validator directory used by connections: as of its last read."""

from typing import Any

import pytest

from network_app.chains.validators import ValidatorDirectory
from network_app.ports import ValidatorInfo
from platform_app.apps import platform_chain
from platform_app.config import DAY
from platform_app.services import uptime
from tests.builders import platform
from tests.integration.network_app.world import STRANGER, World
from tests.integration.platform_app.made import DELEGATION, STAKE, delegator, node, validator

OTHER = node("other")


@pytest.fixture
def directory(world: World) -> ValidatorDirectory:
    """A directory, not yet read, of this node and of another validator with a delegator."""
    world.p.do(validator(world.p, "other", end=30 * DAY))
    world.p.do(delegator(world.p, "other", end=20 * DAY))
    return ValidatorDirectory(platform_chain())


def test_directory_is_empty_before_the_first_read(directory: ValidatorDirectory) -> None:
    assert directory.validators() == {}
    assert directory.uptime_of(OTHER) == 0


def test_validators_weigh_with_their_delegators(
    world: World, directory: ValidatorDirectory
) -> None:
    directory.read()

    found = directory.validators()
    key = platform.proof_of_possession().public_key
    assert found[OTHER] == ValidatorInfo(STAKE + DELEGATION, key)
    assert set(found) == {OTHER, world.p.node_id}


def test_directory_shows_new_validators_after_a_read(
    world: World, directory: ValidatorDirectory
) -> None:
    directory.read()
    world.p.do(validator(world.p, "third", end=30 * DAY))
    assert node("third") not in directory.validators()

    directory.read()

    assert node("third") in directory.validators()


def test_directory_reports_uptime_in_percent(
    world: World, directory: ValidatorDirectory, monkeypatch: Any
) -> None:
    directory.read()
    assert directory.uptime_of(OTHER) == 100  # no observation yet

    uptime.observe(platform_chain(), [STRANGER.node_id, OTHER], world.p.now)
    world.wall.seconds += 30_000
    uptime.observe(platform_chain(), [STRANGER.node_id], world.p.now)
    world.wall.seconds += 10_000
    directory.read()

    assert directory.uptime_of(OTHER) == 75
    assert directory.uptime_of(world.p.node_id) == 100
    assert directory.uptime_of(STRANGER.node_id) == 0
