"""Celery tasks of the P-Chain: blocks are made when transactions arrive and periodically, by one worker at a time."""

from typing import Any

import pytest
from django.conf import settings
from django.core.cache import cache
from django.test import TestCase

from chaindb import wakeup
from platform_app import tasks
from platform_app.apps import platform_chain
from platform_app.blocks import builder
from platform_app.config import DAY
from platform_app.models import Phase
from platform_app.selectors import accepted
from platform_app.services import mempool
from platform_app.txs.base import TxStatus
from tests.integration.platform_app.conftest import PChain
from tests.integration.platform_app.made import payments, scheduled_validator, staker_of
from tests.integration.platform_app.services.conftest import Sent
from tests.integration.waking import by_celery

TASK = "platform_app.build_blocks"
TICK = "platform_app.tick"


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prevent a worker's turn, and a request in the cache, from expiring during a test."""
    monkeypatch.setattr(wakeup, "_LIFETIME", 3600)
    monkeypatch.setattr(tasks, "TURN", 3600.0)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """The tasks sent to the broker; none is requested yet."""
    cache.clear()
    made = Sent()
    monkeypatch.setattr(wakeup, "task_app", lambda: made)
    return made


def issue(pchain: PChain, *txs: Any, commit: Any) -> None:
    """Issue transactions in one commit, and run its on-commit callbacks."""
    with commit(execute=True):
        pchain.issue(*txs)


@by_celery
def test_transaction_requests_a_block_once(
    pchain: PChain, sent: Sent, django_capture_on_commit_callbacks: Any
) -> None:
    txs = payments(pchain, 3)

    for tx in txs:
        issue(pchain, tx, commit=django_capture_on_commit_callbacks)

    assert sent.names == [TASK]


@by_celery
def test_transaction_after_the_worker_ended_sends_a_task(
    pchain: PChain, sent: Sent, django_capture_on_commit_callbacks: Any
) -> None:
    first, second = payments(pchain, 2)
    issue(pchain, first, commit=django_capture_on_commit_callbacks)
    assert tasks.build_blocks() == {"blocks": 1}

    issue(pchain, second, commit=django_capture_on_commit_callbacks)

    assert sent.names == [TASK] * 2


def test_tick_builds_the_block_of_a_lost_request(pchain: PChain) -> None:
    tx = pchain.make()
    pchain.issue(tx)  # no worker receives the request

    assert tasks.build_blocks() == {"blocks": 1}
    assert tasks.build_blocks() == {"blocks": 0}
    assert accepted.status(platform_chain(), tx.tx_id).status is TxStatus.COMMITTED


def test_tick_builds_blocks_of_due_changes(pchain: PChain) -> None:
    tx = pchain.do(scheduled_validator(pchain, "node", start=600, end=2 * DAY))
    pchain.now += 601

    assert tasks.build_blocks() == {"blocks": 1}

    assert staker_of(tx).phase == Phase.CURRENT


def test_all_that_is_due_is_made_at_one_tick(
    pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    txs = payments(pchain, 4)
    monkeypatch.setattr(builder, "TXS_SIZE_LIMIT", len(txs[0].raw))
    pchain.issue(*txs)

    assert tasks.build_blocks() == {"blocks": 4}


@by_celery
def test_worker_under_steady_load_yields(
    pchain: PChain, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    txs = payments(pchain, 3)
    monkeypatch.setattr(builder, "TXS_SIZE_LIMIT", len(txs[0].raw))
    monkeypatch.setattr(tasks, "TURN", -1.0)
    pchain.issue(*txs)

    with TestCase.captureOnCommitCallbacks(execute=True):
        assert tasks.build_blocks() == {"blocks": 1}
    assert sent.names == [TASK]


@by_celery
def test_a_transaction_of_an_idle_node_is_committed_without_waiting_for_the_tick(
    shared_pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """These tests run tasks immediately, so the block exists when the call returns."""
    monkeypatch.undo()
    cache.clear()
    monkeypatch.setattr(tasks.clock, "now", lambda: shared_pchain.now)
    tx = shared_pchain.make()

    mempool.issue_tx(platform_chain(), tx, now=shared_pchain.now)

    assert accepted.status(platform_chain(), tx.tx_id).status is TxStatus.COMMITTED


def test_the_builder_is_a_task_that_exists_and_is_ticked_each_second(db: None) -> None:
    from nodeproject.celery import app

    app.loader.import_default_modules()
    assert platform_chain().producer.task == TASK
    assert {TASK, TICK} <= app.tasks.keys()
    entries = [entry for entry in settings.CELERY_BEAT_SCHEDULE.values() if entry["task"] == TICK]
    assert [entry["schedule"] for entry in entries] == [1.0]
    assert settings.CELERY_TASK_ROUTES["platform_app.*"] == {"queue": "chain"}
