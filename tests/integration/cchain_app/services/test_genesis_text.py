"""The genesis file given to other nodes: it makes exactly the same chain there."""

import json
from pathlib import Path
from typing import Any

import pytest

from cchain_app import models
from cchain_app.apps import evm_chain
from cchain_app.genesis import load_genesis
from cchain_app.local_genesis import local_text
from cchain_app.services import genesis as service
from tests.builders.node_settings import updated
from tests.integration.cchain_app.followed import dump, follow, rewind
from tests.integration.conftest import Chain

pytestmark = pytest.mark.sqlite_only


@pytest.fixture
def directory(tmp_path: Path, settings: Any, node_settings: Any) -> Path:
    """The test's own data directory, with the shared test database."""
    settings.NODE = updated(settings.NODE, data_dir=str(tmp_path))
    return tmp_path


def test_genesis_text_fills_optional_members(chain: Chain) -> None:
    document = json.loads(service.genesis_text(evm_chain()))
    built_in = json.loads(local_text())

    assert int(document["timestamp"], 16) == chain.genesis.header.timestamp > 0
    assert document["config"]["chainId"] == 43112
    assert document["config"]["minBaseFee"] == 10**9
    assert document["alloc"] == built_in["alloc"]
    assert list(document) == list(built_in)


@pytest.mark.node_settings(chain_id=777, min_base_fee=5)
def test_genesis_text_has_the_settings(chain: Chain) -> None:
    config = load_genesis(service.genesis_text(evm_chain()), min_base_fee=10**9).config

    assert (config.chain_id, config.min_base_fee) == (777, 5)


def test_before_the_first_start_its_time_is_now(
    db: None, node_settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cchain_app.services.genesis.clock.now", lambda: 1_234_567_890)

    assert load_genesis(service.genesis_text(evm_chain())).timestamp == 1_234_567_890


def test_complete_genesis_file_is_unchanged(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    text = service.genesis_text(evm_chain())
    monkeypatch.setattr(evm_chain(), "genesis_file", text.encode)
    evm_chain().read_genesis_again()

    assert service.genesis_text(evm_chain()) == text


@pytest.mark.node_settings(min_base_fee=5)
def test_a_node_that_was_given_it_makes_the_same_chain(
    directory: Path, chain: Chain, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for value in (1, 2):
        chain.do(value=value)
    made, text = dump(), service.genesis_text(evm_chain())
    candidates = rewind(monkeypatch)
    monkeypatch.undo()
    for model in (models.Block, models.Account, models.TrieNode, models.Chain):
        model.objects.all().delete()

    evm_chain().genesis_source.fetched.parent.mkdir()
    evm_chain().genesis_source.fetched.write_text(text)
    settings.NODE = updated(settings.NODE, min_base_fee=10**9)  # the network's value has priority

    assert service.load_genesis(evm_chain()) == chain.genesis
    follow(*candidates)
    assert dump() == made
    assert evm_chain().pool_limits.minimum_fee == 5


def test_genesis_files_are_searched_in_order(db: None, directory: Path, settings: Any) -> None:
    assert evm_chain().genesis_file() == local_text(evm_chain().genesis_source.choices)

    (directory / "genesis").mkdir()
    (directory / "genesis" / "cchain.json").write_bytes(b"given by others")
    assert evm_chain().genesis_file() == b"given by others"

    (directory / "mine.json").write_bytes(b"named by the operator")
    settings.NODE = updated(settings.NODE, genesis=str(directory / "mine.json"))
    assert evm_chain().genesis_file() == b"named by the operator"
