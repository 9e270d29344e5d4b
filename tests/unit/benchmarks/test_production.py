"""The production profile as one of the servers in the table."""

from pathlib import Path

import pytest

from benchmarks.node import NODE
from benchmarks.production import PRODUCTION, ServersMissing, versions


def test_production_node_has_two_web_workers_and_embedded_settings(tmp_path: Path) -> None:
    settings, embedded = (kind.environment(1, tmp_path) for kind in (PRODUCTION, NODE))
    differing = {name for name in settings if settings[name] != embedded.get(name)}
    assert settings["NODE_WEB_WORKERS"] == "2"
    # The staking port is a different free port each time.
    assert differing <= {"NODE_WEB_WORKERS", "NODE_STAKING_PORT"}


def test_servers_that_are_not_installed_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ServersMissing, match=r"^--production needs PostgreSQL and Redis: "):
        versions()
