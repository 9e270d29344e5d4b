"""Who makes blocks, for a node that was told by others with the genesis."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from network_app.apps import node_network
from tests.integration.network_app.named import BOOTSTRAP, OTHER, Configure
from tests.integration.network_app.world import World
from tests.integration.platform_app.made import node


def told(names: str) -> None:
    """Have another node told who makes blocks, with the genesis."""
    node_network().producers.told_path.parent.mkdir(parents=True, exist_ok=True)
    node_network().producers.told_path.write_text(names)


@pytest.fixture
def told_directory(world: World, settings: Any, tmp_path: Path) -> None:
    settings.NODE = replace(settings.NODE, data_dir=str(tmp_path))


@pytest.mark.usefixtures("told_directory", "another")
def test_a_follower_believes_whom_they_named_who_told_the_genesis(
    world: World, configure: Configure
) -> None:
    told("all")
    configure(bootstrap=BOOTSTRAP)
    assert node_network().producers.nodes is None
    assert node_network().producers.told_to_others == ("all",)

    third = node("third")
    told(f"{OTHER} {third}")
    configure()
    assert node_network().producers.nodes == {OTHER, third}
    assert set(node_network().producers.told_to_others) == {str(OTHER), str(third)}


@pytest.mark.usefixtures("told_directory", "another")
def test_the_operator_knows_better(world: World, configure: Configure) -> None:
    told("all")
    configure(bootstrap=BOOTSTRAP, producers=(str(OTHER),))
    assert node_network().producers.nodes == {OTHER}
    configure(producers=(), platform_genesis="a file")
    assert node_network().producers.nodes == {world.p.node_id}
    configure(bootstrap=(), platform_genesis="")
    assert node_network().producers.nodes == {OTHER}


@pytest.mark.usefixtures("told_directory", "another")
def test_where_nobody_was_named_it_is_the_genesis_first_validator(
    world: World, configure: Configure
) -> None:
    configure(bootstrap=BOOTSTRAP)
    assert node_network().producers.told_to_others == (str(world.p.node_id),)
