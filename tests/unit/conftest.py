"""What all unit tests share: no database, so no chain that one has begun."""

import pytest

from cchain_app.chain import EvmChain
from cchain_app.services import local_genesis
from cchain_app.store import chain as stored
from cchain_app.store import forked


@pytest.fixture(autouse=True)
def no_chain_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a local chain be a new one; whether rows of another test are there is not asked."""
    monkeypatch.setattr(local_genesis, "local_file", EvmChain.new_local_file)
    monkeypatch.setattr(forked, "read_fork", lambda _: None)
    monkeypatch.setattr(stored, "chain_id", lambda _: None)
