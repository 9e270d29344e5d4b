"""Following while others write: each height gets one block, whichever comes first."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections

from cchain_app import models
from cchain_app.apps import evm_chain, evm_runtime
from cchain_app.selectors import blocks
from cchain_app.services import transactions
from chainvm.errors import UnknownParent
from chainvm.port import HeadMoved
from tests.builders.cchain import JUNK_KEYS
from tests.builders.evm_chains import produce
from tests.builders.transactions import signed
from tests.integration.cchain_app.followed import dump, follow, rewind
from tests.integration.conftest import Chain

BLOCKS = 12


def elsewhere(pool: ThreadPoolExecutor, work: Callable[[], Any]) -> "Future[Any]":
    """Run a function in a thread that closes its connections at the end."""

    def run() -> Any:
        try:
            return work()
        finally:
            connections.close_all()

    return pool.submit(run)


def test_concurrent_followers_accept_each_block_once(
    shared_chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    for value in range(BLOCKS):
        shared_chain.do(value=value)
    made = dump()
    candidates = rewind(monkeypatch)
    begin = threading.Barrier(3)

    def follow_all() -> int:
        begin.wait()
        accepted = 0
        while (height := blocks.catch_up(evm_chain()).number) < BLOCKS:
            try:
                accepted += len(follow(candidates[height]))
            except (UnknownParent, HeadMoved):
                continue
        return accepted

    with ThreadPoolExecutor(3) as pool:
        done = [elsewhere(pool, follow_all) for _ in range(3)]
        accepted = [item.result() for item in done]

    assert sum(accepted) == BLOCKS
    assert dump() == made
    assert blocks.head(evm_chain()).number == BLOCKS


def test_node_that_builds_and_follows_blocks_has_one_chain(
    shared_chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    for value in range(BLOCKS):
        shared_chain.do(value=value)
    candidates = rewind(monkeypatch)
    own = [signed(key=JUNK_KEYS[0], nonce=nonce) for nonce in range(BLOCKS)]
    begin = threading.Barrier(3)

    def follow_all() -> int:
        begin.wait()
        accepted = 0
        for candidate in candidates:
            try:
                accepted += len(follow(candidate))
            except (UnknownParent, HeadMoved):
                break
        return accepted

    def submit() -> None:
        begin.wait()
        for item in own:
            assert transactions.submit(evm_runtime(), [item.raw]) == [item.hash]

    def make() -> int:
        begin.wait()
        while (
            len(candidates) > blocks.catch_up(evm_chain()).number
            and not models.PoolTransaction.objects.exists()
        ):
            pass
        produced = 0
        while produced < 3:
            produced += produce(evm_runtime(), now=shared_chain.now, allow_empty=True) is not None
        return produced

    with ThreadPoolExecutor(3) as pool:
        followed, submitted, produced = (
            elsewhere(pool, work) for work in (follow_all, submit, make)
        )
        submitted.result()
        heights = followed.result() + produced.result()

    assert models.Block.objects.count() == heights + 1
    assert blocks.catch_up(evm_chain()).number == heights
    shared_chain.mine()
    assert models.PoolTransaction.objects.count() == 0
    mined = models.Transaction.objects.filter(hash__in=[item.hash for item in own]).count()
    assert mined == BLOCKS
