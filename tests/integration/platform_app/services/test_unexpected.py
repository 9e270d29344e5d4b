"""An unexpected error affects only the sender of the transaction, and never stops the chain."""

from types import SimpleNamespace
from typing import Any

import pytest

from platform_app.apps import platform_chain
from platform_app.blocks import builder as block_builder
from platform_app.executor import standard
from platform_app.selectors import accepted
from platform_app.services import clearing, mempool
from platform_app.txs.base import Tx, TxStatus
from primitives.ids import ID
from tests.integration.platform_app.conftest import PChain


class Broken(Exception):
    """A bug in the rules themselves."""


@pytest.fixture
def breaking(monkeypatch: pytest.MonkeyPatch) -> set[ID]:
    """The rules raise an error for transactions whose IDs are added to this set."""
    failing: set[ID] = set()

    def execute(tx: Tx, *arguments: Any) -> None:
        if tx.tx_id in failing:
            raise Broken
        standard.execute(tx, *arguments)

    for module in (mempool, clearing, block_builder):
        monkeypatch.setattr(module, "execute", execute)
    return failing


def test_a_transaction_that_breaks_admission_is_its_senders_trouble_alone(
    pchain: PChain, breaking: set[ID]
) -> None:
    bad, good = pchain.make(), pchain.make()
    breaking.add(bad.tx_id)

    refused, taken = mempool.issue(platform_chain(), [bad, good], now=pchain.now)

    assert isinstance(refused, Broken)
    assert taken == good.tx_id
    assert accepted.status(platform_chain(), bad.tx_id).status is TxStatus.UNKNOWN


def test_transaction_that_crashes_the_builder_is_dropped(
    pchain: PChain, breaking: set[ID], caplog: pytest.LogCaptureFixture
) -> None:
    bad, good = pchain.make(), pchain.make()
    pchain.issue(bad, good)
    breaking.add(bad.tx_id)

    pchain.build()

    assert accepted.status(platform_chain(), bad.tx_id) == (TxStatus.DROPPED, "internal error")
    assert accepted.status(platform_chain(), good.tx_id).status is TxStatus.COMMITTED
    assert "crashes the rules instead of being rejected" in caplog.text


def test_other_builder_failure_is_raised(pchain: PChain, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise Broken

    monkeypatch.setattr(block_builder, "build", fail)

    with pytest.raises(Broken):
        pchain.build()


def test_concurrent_block_discards_earlier_refusals(
    pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    tx = pchain.make()
    looked: list[int] = []
    look = mempool._Admission._check

    def mistaken_at_first(self: Any, one: Tx) -> Any:
        looked.append(1)
        return Broken() if len(looked) == 1 else look(self, one)

    monkeypatch.setattr(mempool._Admission, "_check", mistaken_at_first)
    monkeypatch.setattr(mempool, "blocks", SimpleNamespace(read=lambda _db: None))

    assert mempool.issue(platform_chain(), [tx], now=pchain.now) == [tx.tx_id]
