"""Admission of transactions while another process holds the pool's lock."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, connections

from cchain_app.apps import evm_chain
from cchain_app.selectors import blocks
from cchain_app.services import transactions
from chaindb.locks import Lock
from tests.integration.conftest import Chain
from tests.integration.patience import SECONDS

_WAIT_FOR_A_LOCK = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one lock for all")
def test_waiting_for_the_pool_does_not_block_the_head(shared_chain: Chain) -> None:
    chain, made = evm_chain(), shared_chain.make()
    shared_chain.do()

    def submit() -> object:
        try:
            return transactions.submit(shared_chain.runtime, [made.raw])
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        with chain.db.atomic():
            chain.db.acquire(Lock.CCHAIN_POOL)
            submitted = pool.submit(submit)
            # PostgreSQL does not notify when a session waits for a lock.
            deadline = time.monotonic() + SECONDS
            while chain.db.row(_WAIT_FOR_A_LOCK) != (1,):
                assert time.monotonic() < deadline
                time.sleep(0.01)

            assert chain.memory.moving.acquire(blocking=False)
            chain.memory.moving.release()
            assert blocks.catch_up(chain).number == 1
        submitted.result(SECONDS)
