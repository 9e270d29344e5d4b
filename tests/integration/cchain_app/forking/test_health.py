"""A fork has no peers, so its health does not depend on a network process."""

from pathlib import Path
from typing import Any

import pytest

from cchain_app.apps import evm_chains
from health_app.metrics.network import of_network
from nodeproject.startup import identity
from platform_app.apps import platform_chain
from platform_app.services.genesis import load_genesis
from tests.builders import health_checks as checks
from tests.builders import network_rows
from tests.builders.node_settings import updated
from tests.integration.cchain_app.forking.conftest import ForkedChain

pytestmark = pytest.mark.sqlite_only


@pytest.fixture
def long_ago(
    forked: ForkedChain, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fork with NODE_NETWORK on, whose network process has not reported for a long time."""
    settings.NODE = updated(settings.NODE, network=True, data_dir=str(tmp_path))
    identity.make_identity(settings.NODE, 1_790_000_000)
    load_genesis(platform_chain(), platform_chain().proof_of_possession, "{}")
    monkeypatch.setattr(checks, "BEGAN", network_rows.ago(90).timestamp())


def test_fork_without_network_process_is_healthy(long_ago: None) -> None:
    assert checks.measure_network().error == ""


def test_fork_has_no_metric_of_the_network_process(long_ago: None) -> None:
    names = {metric.name for metric in of_network(platform_chain(), evm_chains())}
    assert "svc_network_peers" in names
    assert "svc_network_process_up" not in names
