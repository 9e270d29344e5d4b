"""Which node this process is of, where a test wants it to be a certain one."""

import pytest

from platform_app.chain import PlatformChain
from primitives.ids import NodeID


def be(monkeypatch: pytest.MonkeyPatch, node_id: NodeID | None) -> None:
    """Be a node, whatever settings change; None: one without a certificate, not initialised yet."""
    monkeypatch.setattr(PlatformChain, "node_id", node_id or property(_without_certificate))


def _without_certificate(_: PlatformChain) -> NodeID:
    raise FileNotFoundError
