"""Both chains, for tests that use both."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from health_app.history import HistoryWriter
from nodeproject.apps import this_node
from nodeproject.copies.snapshots import DamagedSnapshot
from nodeproject.settings.node import NodeSettings
from tests.builders.node_settings import updated
from tests.integration.conftest import Chain
from tests.integration.nodeproject.backed_up import make_backup
from tests.integration.nodeproject.snapshots import Scene
from tests.integration.platform_app.conftest import (
    PChain,
    nothing_remembered,
    pchain,
    shared_pchain,
)

__all__ = ["nothing_remembered", "pchain", "shared_pchain"]


@pytest.fixture(autouse=True)
def no_health_history() -> Iterator[None]:
    """Write no health history: its thread would continue to write during later tests."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(HistoryWriter, "_wake", lambda _writer: None)
        yield


@pytest.fixture
def scene(shared_chain: Chain, shared_pchain: PChain) -> Iterator[Scene]:
    """A node with both chains; its snapshots are deleted afterwards."""
    made = Scene(shared_chain, shared_pchain)
    yield made
    for snapshot in made.snapshots.all():
        made.snapshots.delete(
            snapshot.name if isinstance(snapshot, DamagedSnapshot) else snapshot.manifest.name
        )


@pytest.fixture
def settings_of_second(tmp_path: Path) -> NodeSettings:
    """The settings of a node in an empty data directory."""
    directory = tmp_path / "second"
    directory.mkdir()
    return updated(this_node().settings, data_dir=str(directory))


@pytest.fixture
def saved(scene: Scene, tmp_path: Path) -> Path:
    """A backup of a node with rows in every table that can have rows here."""
    path = tmp_path / "backups" / "node.backup"
    path.parent.mkdir()
    make_backup(scene, path)
    return path
