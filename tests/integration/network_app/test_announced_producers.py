"""The block producer of a node that received its name together with the genesis."""

from pathlib import Path
from typing import Any

import pytest

from network_app.apps import node_network
from tests.builders.node_settings import updated
from tests.integration.network_app.named import BOOTSTRAP, OTHER, Configure
from tests.integration.network_app.world import World
from tests.integration.platform_app.made import node


def told(name: str) -> None:
    """Write the name of the producer as if it had been received with the genesis."""
    node_network().producer.received_path.parent.mkdir(parents=True, exist_ok=True)
    node_network().producer.received_path.write_text(name)


@pytest.fixture
def told_directory(world: World, settings: Any, tmp_path: Path) -> None:
    settings.NODE = updated(settings.NODE, data_dir=str(tmp_path))


@pytest.mark.usefixtures("told_directory", "another")
def test_follower_uses_the_producer_named_with_the_genesis(
    world: World, configure: Configure
) -> None:
    told(str(OTHER))
    configure(bootstrap=BOOTSTRAP)
    assert node_network().producer.node_id == OTHER
    assert node_network().producer.announced_name == str(OTHER)

    third = node("third")
    told(str(third))
    configure()
    assert node_network().producer.node_id == third


@pytest.mark.usefixtures("told_directory", "another")
def test_the_operator_knows_better(world: World, configure: Configure) -> None:
    told(str(node("third")))
    configure(bootstrap=BOOTSTRAP, producer=str(OTHER))
    assert node_network().producer.node_id == OTHER
    configure(producer="", platform_genesis="a file")
    assert node_network().producer.node_id == world.p.node_id
    configure(bootstrap=(), platform_genesis="")
    assert node_network().producer.node_id == OTHER
    assert node_network().producer.is_own


@pytest.mark.usefixtures("told_directory", "another")
def test_default_producer_is_the_first_genesis_validator(
    world: World, configure: Configure
) -> None:
    configure(bootstrap=BOOTSTRAP)
    assert node_network().producer.announced_name == str(world.p.node_id)
    assert not node_network().producer.is_own
