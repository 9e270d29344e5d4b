"""Commits of the mempool: their statements, and the blocks that they request."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from platform_app import models
from platform_app.apps import platform_chain, platform_runtime
from platform_app.config import DAY
from platform_app.selectors import accepted
from platform_app.selectors.accepted import Status
from platform_app.services import mempool
from platform_app.store import mempool as waiting
from platform_app.txs.base import BaseTx, Tx, TxStatus
from tests.builders import platform
from tests.integration.platform_app.conftest import PChain
from tests.integration.platform_app.made import (
    DELEGATION,
    delegator,
    payments,
    split,
    validator,
)
from tests.integration.platform_app.services.conftest import Sent
from tests.integration.waking import by_celery

PROCESSING = Status(TxStatus.PROCESSING)


def unfunded(number: int = 0) -> Tx:
    """Return a transfer that spends outputs which do not exist."""
    return platform.signed(BaseTx, inputs=platform.spend_all(platform.utxo(number=number)))


def test_all_that_is_taken_at_once_is_one_commit(shared_pchain: PChain) -> None:
    txs = payments(shared_pchain, 40)

    with CaptureQueriesContext(connection) as asked:
        mempool.issue(platform_chain(), txs, now=shared_pchain.now)

    assert [query["sql"] for query in asked].count("COMMIT") == 1
    assert models.MempoolTx.objects.count() == 40


def test_the_number_of_questions_does_not_grow_with_the_transactions(pchain: PChain) -> None:
    asked = []
    txs = payments(pchain, 60)
    for part in (txs[:2], txs[2:]):
        with CaptureQueriesContext(connection) as captured:
            mempool.issue(platform_chain(), part, now=pchain.now)
        asked.append(len(captured))

    assert asked[0] == asked[1]


def test_all_delegations_to_a_node_read_its_delegators_once(pchain: PChain) -> None:
    pchain.do(validator(pchain, "node", end=30 * DAY))
    split(pchain, 12, 2 * DELEGATION)
    txs = [delegator(pchain, "node", end=20 * DAY) for _ in range(12)]
    asked = []
    for part in (txs[:2], txs[2:]):
        with CaptureQueriesContext(connection) as captured:
            mempool.issue(platform_chain(), part, now=pchain.now)
        asked.append(len(captured))

    assert asked[0] == asked[1]


def test_failed_admission_keeps_nothing(pchain: PChain, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(waiting, "drop", fail)

    with pytest.raises(RuntimeError, match="the disk is full"):
        mempool.issue(platform_chain(), [pchain.make()], now=pchain.now)

    assert list(waiting.oldest_first(platform_chain().db)) == []


@by_celery
def test_block_is_requested_only_after_the_commit(
    pchain: PChain, sent: Sent, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks() as callbacks:
        pchain.issue(*payments(pchain, 3))
        assert sent.names == []

    for callback in callbacks:
        callback()
    assert sent.names == [platform_chain().producer.task]


def test_admission_without_new_transaction_requests_no_block(
    pchain: PChain, django_capture_on_commit_callbacks: Any
) -> None:
    tx = pchain.do(pchain.make())

    with django_capture_on_commit_callbacks() as callbacks:
        mempool.issue(platform_chain(), [tx, unfunded()], now=pchain.now)

    assert callbacks == []


@pytest.mark.usefixtures("broker_away")
@by_celery
def test_a_broker_that_is_away_does_not_lose_the_transaction(
    pchain: PChain, django_capture_on_commit_callbacks: Any, caplog: pytest.LogCaptureFixture
) -> None:
    tx = pchain.make()

    with django_capture_on_commit_callbacks(execute=True):
        pchain.issue(tx)

    assert (
        "the broker is unavailable; the block is built at the next tick: no connection"
        in caplog.text
    )
    assert accepted.status(platform_chain(), tx.tx_id) == PROCESSING
    assert platform_runtime().consensus.produce(now=pchain.now) is not None
