"""The node ID of this process, as a test chooses it."""

import pytest

from platform_app.chain import PlatformChain
from primitives.ids import NodeID


def be(monkeypatch: pytest.MonkeyPatch, node_id: NodeID | None) -> None:
    """Set the node ID, whatever the settings are; None: a node that has no certificate yet."""
    monkeypatch.setattr(PlatformChain, "node_id", node_id or property(_without_certificate))


def _without_certificate(_: PlatformChain) -> NodeID:
    raise FileNotFoundError
