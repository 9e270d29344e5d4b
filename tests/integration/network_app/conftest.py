"""Both chains on a real database, with two nodes that use it one after the other."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chaindb import clock
from chaindb.wakeup import Wakeup
from network_app.proposervm.block import OuterOptionBlock, parse
from tests.builders import platform
from tests.builders.node_settings import updated
from tests.builders.process import restart_node
from tests.integration.conftest import Chain
from tests.integration.network_app.named import another, configure
from tests.integration.network_app.world import ClockedPChain, Past, Wall, World

__all__ = ["another", "configure"]


@pytest.fixture
def home(node_settings: Any, settings: Any, tmp_path: Path) -> None:
    """The test's own data directory."""
    settings.NODE = updated(node_settings, data_dir=str(tmp_path))


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> Wall:
    """The wall clock."""
    made = Wall(platform.NOW)
    monkeypatch.setattr(clock, "time", made)
    return made


@pytest.fixture
def world(home: None, wall: Wall, chain: Chain) -> Iterator[World]:
    """Both chains of the local network at genesis; at the end of the test the C-Chain is recomputed."""
    restart_node()
    p = ClockedPChain(wall)
    p.begin()
    yield World(p, chain, wall)
    restart_node()


@pytest.fixture
def shared_world(
    home: None, wall: Wall, shared_chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> Iterator[World]:
    """The same, committed: other threads see it. Here, too, blocks are made on demand."""
    monkeypatch.setattr(Wakeup, "request", lambda _wakeup: None)
    restart_node()
    p = ClockedPChain(wall)
    p.begin()
    yield World(p, shared_chain, wall)
    restart_node()


@pytest.fixture
def past(world: World) -> Past:
    """The blocks of a history; the rows are those of a node without any of them."""
    world.make_history()
    blocks = world.hand_over()
    assert [len(block) for block in blocks] == [8, 6]
    assert sum(isinstance(parse(raw), OuterOptionBlock) for raw in blocks.p) == 1
    return blocks
