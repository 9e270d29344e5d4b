"""Celery tasks: when blocks are made, in each of the three modes."""

from typing import Any

import pytest
from django.conf import settings
from django.core.cache import cache
from django.test import TestCase

from cchain_app import models, tasks
from cchain_app.apps import evm_chain, evm_runtime
from cchain_app.chain import EvmChain
from cchain_app.selectors import blocks, pool
from chaindb import wakeup
from tests.builders.deciding import deciding
from tests.builders.evm_chains import produce
from tests.builders.transactions import signed
from tests.integration.conftest import Chain
from tests.integration.waking import by_celery


class Sent:
    """The tasks that were sent to the broker."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def signature(self, name: str, kwargs: dict[str, str]) -> "Sent":
        self.names.append(name)
        return self

    def apply_async(self, **_: Any) -> None:
        pass


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    made = Sent()
    monkeypatch.setattr(wakeup, "task_app", lambda: made)
    # The real limits, two seconds in the cache and one in a worker, could expire during a test.
    monkeypatch.setattr(wakeup, "_LIFETIME", 3600)
    monkeypatch.setattr(tasks, "TURN", 3600.0)
    monkeypatch.setattr(tasks, "LINGER", 0.0)
    return made


@by_celery
@pytest.mark.node_settings(mining="auto")
def test_transaction_requests_a_block_once(chain: Chain, sent: Sent) -> None:
    chain.send(signed(nonce=0))
    chain.send(signed(nonce=1))

    assert sent.names == [evm_chain().producer.task]


@by_celery
@pytest.mark.node_settings(mining="auto")
def test_transaction_after_the_worker_ended_sends_a_task(chain: Chain, sent: Sent) -> None:
    chain.send(signed(nonce=0))
    assert tasks.produce_blocks() == {"blocks": 1}

    chain.send(signed(nonce=1))

    assert len(sent.names) == 2


@by_celery
@pytest.mark.node_settings(mining="auto")
def test_transaction_during_the_work_needs_no_task(
    chain: Chain, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = [signed(nonce=1), signed(nonce=2)]
    looks = pool.is_empty

    def look_and_send(of: EvmChain) -> bool:
        is_empty = looks(of)
        if is_empty and later:  # after its check, before it waits for the next transaction
            chain.send(later.pop(0))
        return is_empty

    monkeypatch.setattr(pool, "is_empty", look_and_send)
    chain.send(signed(nonce=0))

    assert tasks.produce_blocks() == {"blocks": 3}
    assert sent.names == [evm_chain().producer.task]


@by_celery
@pytest.mark.node_settings(mining="auto")
def test_transaction_missed_by_the_worker_sends_a_task(chain: Chain, sent: Sent) -> None:
    with evm_chain().producer.attending():
        chain.send(signed(nonce=0))
        assert sent.names == []
    assert sent.names == [evm_chain().producer.task]


@by_celery
@pytest.mark.node_settings(mining="auto")
def test_a_worker_that_found_nothing_waits_for_nothing(
    chain: Chain, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "LINGER", 3600.0)

    assert tasks.produce_blocks() == {"blocks": 0}


@pytest.mark.node_settings(mining="auto")
def test_queued_transaction_requests_no_block(chain: Chain, sent: Sent) -> None:
    chain.send(signed(nonce=5))

    assert sent.names == []


@pytest.mark.node_settings(mining="auto")
def test_tick_builds_the_block_of_a_lost_request(chain: Chain, sent: Sent) -> None:
    chain.send(signed(nonce=0))  # no worker receives the request

    assert tasks.tick() == {"blocks": 1}
    assert tasks.tick() == {"blocks": 0}
    assert blocks.head(evm_chain()).number == 1


@by_celery
@pytest.mark.node_settings(mining="auto")
def test_a_broker_that_is_away_does_not_lose_the_transaction(
    chain: Chain, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Away:
        def signature(self, name: str, kwargs: dict[str, str]) -> Any:
            raise ConnectionRefusedError("no connection")

    monkeypatch.setattr(wakeup, "task_app", Away)

    chain.send(signed(nonce=0))

    assert "the broker is unavailable" in caplog.text
    assert models.PoolTransaction.objects.count() == 1


@by_celery
@pytest.mark.node_settings(mining="auto")
def test_worker_under_steady_load_yields(
    chain: Chain, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "TURN", -1.0)
    chain.send(signed(nonce=0))
    sent.names.clear()
    cache.clear()

    with TestCase.captureOnCommitCallbacks(execute=True):
        assert tasks.produce_blocks() == {"blocks": 1}
    assert sent.names == [evm_chain().producer.task]


@pytest.mark.node_settings(mining="interval")
def test_interval_mining_builds_on_ticks_only(chain: Chain, sent: Sent) -> None:
    chain.send(signed(nonce=0))
    assert sent.names == []
    assert blocks.head(evm_chain()).number == 0

    tasks.tick()
    tasks.tick()

    assert [len(blocks.by_number(evm_chain(), n).transactions) for n in (1, 2)] == [1, 0]


@by_celery
@pytest.mark.node_settings(mining="mixed")
def test_mixed_both_an_arrival_and_each_tick_make_a_block(chain: Chain, sent: Sent) -> None:
    chain.send(signed(nonce=0))
    assert sent.names or blocks.head(evm_chain()).number == 1
    tasks.produce_blocks()
    assert blocks.head(evm_chain()).number == 1

    assert tasks.tick() == {"blocks": 1}
    chain.send(signed(nonce=1))
    tasks.produce_blocks()

    sizes = [len(blocks.by_number(evm_chain(), n).transactions) for n in (1, 2, 3)]
    assert sizes == [1, 0, 1]
    assert tasks.produce_blocks() == {"blocks": 0}


@pytest.mark.node_settings(mining="interval")
def test_interval_mining_is_limited_to_the_producer(
    chain: Chain, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(chain.runtime, "_consensus", deciding(chain.runtime, here=False))
        assert tasks.tick() == {"blocks": 0}
    assert tasks.tick() == {"blocks": 1}


@pytest.mark.node_settings(mining="manual")
def test_manual_mining_ignores_arrivals_and_ticks(chain: Chain, sent: Sent) -> None:
    chain.send(signed(nonce=0))

    assert tasks.tick() == {"blocks": 0}
    assert sent.names == []
    assert produce(evm_runtime(), now=chain.now) is not None


def test_expiry_runs_by_the_clock(chain: Chain) -> None:
    chain.send(signed(nonce=5))
    assert tasks.expire_pool() == {"expired": 0}
    models.PoolTransaction.objects.update(received_at=1)
    evm_chain().memory.pool.entries = {}  # cached rows never change, except in this test

    assert tasks.expire_pool() == {"expired": 1}


def test_the_schedule_names_tasks_that_exist(db: None) -> None:
    from nodeproject.celery import app

    app.loader.import_default_modules()
    for entry in settings.CELERY_BEAT_SCHEDULE.values():
        assert entry["task"] in app.tasks
