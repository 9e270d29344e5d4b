"""Configured block producers, and a process of another node than the first genesis validator."""

from collections.abc import Callable
from typing import Any

import pytest

from network_app.apps import node_network
from primitives.ids import NodeID
from tests.builders import own_node
from tests.builders.node_settings import updated
from tests.integration.network_app.world import World
from tests.integration.platform_app.made import node

OTHER = node("other")
BOOTSTRAP = ("127.0.0.1:9651",)
Configure = Callable[..., None]


@pytest.fixture
def configure(world: World, settings: Any) -> Configure:
    """Return a function that changes the node's settings and clears the cached data of other nodes."""

    def change(**values: Any) -> None:
        settings.NODE = updated(settings.NODE, **values)
        node_network().connect_consensus()

    change()

    return change


@pytest.fixture
def another(world: World, monkeypatch: pytest.MonkeyPatch) -> NodeID:
    """Let this process belong to another node than the genesis names as producer; return the other's ID."""
    own_node.be(monkeypatch, OTHER)
    return OTHER
