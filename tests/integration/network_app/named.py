"""Whom the settings name as makers of blocks, and a process of another node than the genesis' first."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from network_app.apps import node_network
from primitives.ids import NodeID
from tests.builders import own_node
from tests.integration.network_app.world import World
from tests.integration.platform_app.made import node

OTHER = node("other")
BOOTSTRAP = ("127.0.0.1:9651",)
Configure = Callable[..., None]


@pytest.fixture
def configure(world: World, settings: Any) -> Configure:
    """Change the node's settings; what the process remembers of others is forgotten."""

    def change(**values: Any) -> None:
        settings.NODE = replace(settings.NODE, **values)
        node_network().decide()

    change()

    return change


@pytest.fixture
def another(world: World, monkeypatch: pytest.MonkeyPatch) -> NodeID:
    """This process is of another node than the one that the genesis names."""
    own_node.be(monkeypatch, OTHER)
    return OTHER
