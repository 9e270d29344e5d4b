"""Fixtures shared by the tests of the P-Chain's services: brokers that record or fail, blocks of other nodes."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache

from chaindb import clock, wakeup
from nodeproject.apps import this_node
from nodeproject.startup import identity
from platform_app.apps import platform_chain
from platform_app.blocks.block import Block
from platform_app.config import DAY
from platform_app.services.genesis import load_genesis
from platform_app.store.blocks import StoredNetwork
from tests.builders import platform
from tests.builders.node_settings import updated
from tests.builders.platform_replay import assert_replays, remembered
from tests.integration.platform_app.conftest import PChain
from tests.integration.platform_app.made import validator
from tests.integration.platform_app.produced import Producer


class Sent:
    """The tasks that were sent to the broker."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def signature(self, name: str, kwargs: dict[str, str]) -> "Sent":
        self.names.append(name)
        return self

    def apply_async(self, **_: Any) -> None:
        pass


class Away:
    """A broker that cannot be reached."""

    def signature(self, _name: str, kwargs: dict[str, str]) -> Any:
        raise ConnectionRefusedError("no connection")


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    made = Sent()
    cache.clear()
    monkeypatch.setattr(wakeup, "task_app", lambda: made)
    return made


@pytest.fixture
def broker_away(monkeypatch: pytest.MonkeyPatch) -> None:
    cache.clear()
    monkeypatch.setattr(wakeup, "task_app", Away)


@pytest.fixture
def every_block_holds(pchain: PChain) -> Iterator[None]:
    """After the test, decode and verify all blocks again; the result must equal the rows."""
    before = remembered()
    yield
    assert_replays(before, 0, lambda block: max(pchain.now, block.time or 0))


@pytest.fixture
def rewarded(pchain: PChain) -> list[Block]:
    """A transfer, a proposal and its option, made by another node. The clock shows the time of these blocks."""
    pchain.do(validator(pchain, "node", end=30 * DAY))
    producer = Producer(pchain)
    pchain.do(pchain.make())
    pchain.wait(40 * DAY)
    blocks = producer.hand_over()
    assert [type(block).__name__ for block in blocks] == [
        "BanffStandardBlock", "BanffProposalBlock", "BanffCommitBlock",
    ]  # fmt: skip
    return blocks


C_CHAIN_GENESIS = '{"config":{"chainId":43112}}'

Start = Callable[..., StoredNetwork]
"""Starts the node with the given settings and returns its network."""


@pytest.fixture
def start(
    db: None, node_settings: Any, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Start:
    """Start a node as `initialise` does: in one data directory, with a stopped clock."""
    settings.NODE = updated(node_settings, data_dir=str(tmp_path))
    monkeypatch.setattr(clock, "now", lambda: platform.NOW)

    def begin(now: int = platform.NOW, document: Any = None, **changes: Any) -> StoredNetwork:
        monkeypatch.setattr(clock, "now", lambda: now)
        file = ""
        if document is not None:
            file = str(tmp_path / "genesis.json")
            Path(file).write_text(document if isinstance(document, str) else json.dumps(document))
        settings.NODE = updated(settings.NODE, platform_genesis=file, **changes)
        identity.make_identity(this_node().settings, now)
        return load_genesis(platform_chain(), platform_chain().proof_of_possession, C_CHAIN_GENESIS)

    return begin
