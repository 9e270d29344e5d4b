"""Blocks of the X-Chain are made by the tests alone."""

import pytest

from chaindb.wakeup import Wakeup


@pytest.fixture(autouse=True)
def no_blocks_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ignore requests for blocks, which tasks of the production profile would build at once."""
    monkeypatch.setattr(Wakeup, "request", lambda _wakeup: None)
