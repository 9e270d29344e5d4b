"""Several threads and processes use one chain: nothing is spent twice, and every block is valid."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from threading import Barrier
from typing import Any

import pytest
from django.conf import settings
from django.db import connection, connections

from platform_app import models
from platform_app.apps import platform_chain, platform_runtime
from platform_app.executor.errors import TxStateReason
from platform_app.selectors import accepted
from platform_app.services import mempool
from platform_app.services.errors import IssueReason
from platform_app.txs.base import Tx, TxStatus
from tests.builders.platform_replay import assert_replays, remembered
from tests.builders.reasons import reason_of
from tests.integration.platform_app.conftest import PChain
from tests.integration.platform_app.made import STAKE, payments, rival, scheduled_validator, split

ROOT = Path(__file__).parents[4]
ISSUING = Path(__file__).with_name("issuing.py")
DAY = 86_400
THREADS = 4


def at_once(works: list[Callable[[], Any]]) -> list[Any]:
    """Run all functions, each in a thread with its own connection, started together."""
    barrier = Barrier(len(works))

    def run(work: Callable[[], Any]) -> Any:
        try:
            barrier.wait()
            return work()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(run, works))


def rivals_of(txs: list[Tx], count: int) -> list[list[Tx]]:
    """Return `count` lists of transactions that spend the same inputs, each in another order."""
    random = Random(1)
    lists = [[rival(tx, b"rival %d" % number) for tx in txs] for number in range(count)]
    for item in lists:
        random.shuffle(item)
    return lists


def spent_by(tx: Tx) -> Any:
    return tx.unsigned.inputs[0].utxo_id  # type: ignore[attr-defined]


def assert_one_of_each_won(lists: list[list[Tx]]) -> None:
    winners = Counter(
        spent_by(tx)
        for item in lists
        for tx in item
        if accepted.status(platform_chain(), tx.tx_id).status is TxStatus.COMMITTED
    )
    assert winners == Counter(map(spent_by, lists[0]))
    assert models.MempoolTx.objects.count() == 0
    assert models.MempoolInput.objects.count() == 0


def test_one_of_conflicting_transactions_of_threads_is_accepted(
    shared_pchain: PChain,
) -> None:
    lists = rivals_of(payments(shared_pchain, 12), THREADS)
    height, before = platform_chain().tip().height, remembered()
    now = shared_pchain.now

    def issuing(txs: list[Tx]) -> Callable[[], list[Any]]:
        return lambda: [mempool.issue(platform_chain(), [tx], now=now)[0] for tx in txs]

    def building() -> list[Any]:
        for _ in range(20):
            platform_runtime().consensus.produce(now=now)
        return []

    outcomes = at_once([*map(issuing, lists), building, building])

    shared_pchain.build()
    assert_one_of_each_won(lists)
    kinds = Counter(reason_of(item) for found in outcomes for item in found)
    assert kinds[type(lists[0][0].tx_id)] == 12
    assert set(kinds) <= {
        type(lists[0][0].tx_id),
        IssueReason.CONFLICTING_TX,
        TxStateReason.UTXO_MISSING,
    }
    assert_replays(before, height, lambda _block: now)


def test_one_of_conflicting_transactions_of_processes_is_accepted(
    shared_pchain: PChain,
) -> None:
    lists = rivals_of(payments(shared_pchain, 12), 2)
    height, before = platform_chain().tip().height, remembered()

    processes = [_started(txs, shared_pchain.now) for txs in lists]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    said = Counter[str]()
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        out, err = process.communicate(timeout=90)
        assert process.returncode == 0, err
        said.update(out.split())

    shared_pchain.build()
    assert_one_of_each_won(lists)
    assert said["taken"] == 12
    assert set(said) <= {"taken", "ConflictingTx", "MissingUtxo"}
    assert_replays(before, height, lambda _block: shared_pchain.now)


def _started(txs: list[Tx], now: int) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, str(ISSUING), str(now)],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "DJANGO_SETTINGS_MODULE": "nodeproject.settings.test",
            "NODE_DATA_DIR": str(settings.NODE.common.directory),
            "NODE_DATABASE_URL": _database_url(),
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.writelines(f"{tx.raw.hex()}\n" for tx in txs)
    process.stdin.write("\n")
    process.stdin.flush()
    return process


def _database_url() -> str:
    """Return the URL of the test's database, for another process."""
    found = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{Path(found['NAME']).absolute()}"
    return f"postgres://{found['USER']}@{found['HOST']}:{found['PORT']}/{found['NAME']}"


def test_two_builders_make_each_block_once(shared_pchain: PChain) -> None:
    split(shared_pchain, 6, 2 * STAKE)
    txs = [
        scheduled_validator(shared_pchain, f"node {number}", start=100 + number, end=2 * DAY)
        for number in range(6)
    ]
    shared_pchain.issue(*txs)
    shared_pchain.build()
    height, before = platform_chain().tip().height, remembered()
    now = shared_pchain.now + 3 * DAY

    def building() -> int:
        built = 0
        while platform_runtime().consensus.produce(now=now) is not None:
            built += 1
        return built

    built = at_once([building] * 3)

    # Each staker starts and ends in its own block; the end is a proposal and its option.
    assert sum(built) == 12
    assert platform_chain().tip().height == height + 6 + 12
    blocks = assert_replays(before, height, lambda _block: now)
    times = [block.time or 0 for block in blocks]
    assert times == sorted(times)


@pytest.mark.parametrize("same", [1, 20])
def test_the_same_transaction_from_many_threads_waits_once(
    shared_pchain: PChain, same: int
) -> None:
    tx = shared_pchain.make()

    outcomes = at_once(
        [lambda: mempool.issue(platform_chain(), [tx] * same, now=shared_pchain.now)] * THREADS
    )

    assert outcomes == [[tx.tx_id] * same] * THREADS
    assert models.MempoolTx.objects.count() == 1
