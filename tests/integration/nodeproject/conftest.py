"""Both chains, for tests that use both."""

from collections.abc import Iterator

import pytest

from nodeproject.copies.snapshots import DamagedSnapshot
from tests.integration.conftest import Chain
from tests.integration.nodeproject.snapshots import Scene
from tests.integration.platform_app.conftest import (
    PChain,
    nothing_remembered,
    pchain,
    shared_pchain,
)

__all__ = ["nothing_remembered", "pchain", "shared_pchain"]


@pytest.fixture
def scene(shared_chain: Chain, shared_pchain: PChain) -> Iterator[Scene]:
    """A node with both chains; its snapshots are deleted afterwards."""
    made = Scene(shared_chain, shared_pchain)
    yield made
    for snapshot in made.snapshots.all():
        made.snapshots.delete(
            snapshot.name if isinstance(snapshot, DamagedSnapshot) else snapshot.manifest.name
        )
