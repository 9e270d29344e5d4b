"""Setup of all unit tests: they have no database, hence no stored chain."""

import pytest

from cchain_app.store import chain as stored
from cchain_app.store import forked


@pytest.fixture(autouse=True)
def no_chain_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every local chain new, without a query for rows of other tests."""
    monkeypatch.setattr(stored, "first_block", lambda _: None)
    monkeypatch.setattr(forked, "read_fork", lambda _: None)
    monkeypatch.setattr(stored, "chain_id", lambda _: None)
