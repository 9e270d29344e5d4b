"""What tests of the C-Chain's interface share."""

from collections.abc import Iterator

import pytest

from cchain_app.api import loop_gas
from cchain_app.memory import select
from tests.builders.process import begin_anew


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let gas alone bound a call: milliseconds pass on a busy machine while nothing is done."""
    monkeypatch.setattr(select, "SECONDS_OF_SHORTCUT", 3600.0)
    monkeypatch.setattr(select, "SECONDS_OF_WHOLE", 3600.0)
    monkeypatch.setattr(select, "SECONDS_IN_THREAD", 3600.0)
    monkeypatch.setattr(loop_gas, "SECONDS_OF_REQUEST", 3600.0)
    begin_anew()
    yield
    begin_anew()
