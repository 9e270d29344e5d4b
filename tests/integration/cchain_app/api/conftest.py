"""Fixtures shared by the tests of the C-Chain's API."""

from collections.abc import Iterator

import pytest

from cchain_app.api import loop_gas
from cchain_app.memory import select
from jsonrpc.limits.interpreter import LoopTurn
from tests.builders.process import restart_node
from tests.integration.cchain_app.api.hot_requests import Asked, deploy_counter
from tests.integration.conftest import Chain


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Limit calls by gas alone: a busy machine loses milliseconds during which the call does not run."""
    monkeypatch.setattr(select, "SECONDS_OF_SHORTCUT", 3600.0)
    monkeypatch.setattr(select, "SECONDS_OF_WHOLE", 3600.0)
    monkeypatch.setattr(select, "SECONDS_IN_THREAD", 3600.0)
    monkeypatch.setattr(loop_gas, "SECONDS_OF_REQUEST", 3600.0)
    monkeypatch.setattr(LoopTurn, "is_spent", lambda _turn: False)
    restart_node()
    yield
    restart_node()


@pytest.fixture
def asked(patient: None, chain: Chain) -> Asked:
    """The API with and without its shortcuts, on a chain with a counter that was called once."""
    deploy_counter(chain)
    return Asked()
