"""Concurrent requests of keystore users: each one succeeds, or is refused with its message."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event, Lock
from typing import Any

import pytest
from django.db import connections

from chaindb.database import Database
from platform_app import models
from platform_app.apps import platform_chain
from platform_app.config import UNIT
from platform_app.selectors import accepted
from platform_app.services import keystore, wallet
from platform_app.services.errors import ConflictingTx
from platform_app.services.wallet import IssueResult, Payer
from platform_app.store import keystore as store
from platform_app.txs.base import TxStatus
from platform_app.wallet.errors import KeystoreReason
from primitives.ids import ShortID
from tests.builders import platform
from tests.builders.keystore import NAME, PASSWORD, make_cheap, some_user
from tests.builders.reasons import reason_of
from tests.integration.platform_app.conftest import PChain

THREADS = 4
PAYER = Payer(NAME, PASSWORD)
KEY, ADDRESS = platform.KEY, platform.ADDRESS


@pytest.fixture(autouse=True)
def _cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    make_cheap(monkeypatch)


def at_once(works: list[Callable[[], Any]]) -> list[Any]:
    """Run all functions, each in a thread with its own connection; return results and errors."""
    barrier = Barrier(len(works))

    def run(work: Callable[[], Any]) -> Any:
        try:
            barrier.wait()
            return work()
        except Exception as error:
            return error
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(run, works))


def funded(pchain: PChain, coins: int) -> None:
    """Create a user whose only key owns `coins` coins, each of which pays for a subnet."""
    pchain.do(
        pchain.make(platform.BaseTx, *(pchain.output(2 * UNIT, ADDRESS) for _ in range(coins)))
    )
    some_user(KEY)


def same_coins_for(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Delay issuing until the given number of threads have chosen their coins."""
    chosen = Barrier(threads)
    first: set[int] = set()
    lock = Lock()
    retry = wallet.build_and_issue

    def choosing(chain: Any, of: Any, build: Any, *, now: int) -> Any:
        def once(held: Any) -> Any:
            tx = build(held)
            with lock:
                begun = id(of) in first
                first.add(id(of))
            if not begun:
                chosen.wait(60)
            return tx

        return retry(chain, of, once, now=now)

    monkeypatch.setattr(wallet, "build_and_issue", choosing)


def assert_all_accepted(pchain: PChain, issued: list[IssueResult]) -> None:
    assert len({item.tx_id for item in issued}) == len(issued)
    pchain.wait(1)
    for other in issued:
        assert accepted.status(platform_chain(), other.tx_id).status is TxStatus.COMMITTED


def subnet(pchain: PChain, threshold: int) -> Callable[[], IssueResult]:
    keys = platform.ADDRESSES[:THREADS]
    return lambda: wallet.create_subnet(
        platform_chain(), PAYER, control_keys=keys, threshold=threshold, now=pchain.now
    )


@pytest.mark.parametrize("thresholds", [(1, 1, 1, 1), (1, 2, 3, 4)], ids=["same", "different"])
def test_concurrent_payments_use_different_coins(
    shared_pchain: PChain, monkeypatch: pytest.MonkeyPatch, thresholds: tuple[int, ...]
) -> None:
    funded(shared_pchain, THREADS)
    same_coins_for(THREADS, monkeypatch)

    issued = at_once([subnet(shared_pchain, threshold) for threshold in thresholds])

    assert [item for item in issued if isinstance(item, Exception)] == []
    assert_all_accepted(shared_pchain, issued)


@pytest.mark.parametrize("thresholds", [(1, 1, 1, 1), (1, 2, 3, 4)], ids=["same", "different"])
def test_with_one_coin_one_of_those_at_once_is_served(
    shared_pchain: PChain, monkeypatch: pytest.MonkeyPatch, thresholds: tuple[int, ...]
) -> None:
    funded(shared_pchain, 1)
    same_coins_for(THREADS, monkeypatch)

    answers = at_once([subnet(shared_pchain, threshold) for threshold in thresholds])

    issued = [answer for answer in answers if isinstance(answer, IssueResult)]
    assert len(issued) == 1
    assert len([item for item in answers if isinstance(item, ConflictingTx)]) == THREADS - 1
    assert_all_accepted(shared_pchain, issued)


@pytest.mark.usefixtures("transactional_db")
def test_user_deleted_during_a_key_write_leaves_no_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    some_user()
    writing, deleting = Event(), Event()
    add_keys, hold_user, delete_user = store.add_keys, store.hold_user, store.delete_user

    def added(*arguments: Any) -> None:
        writing.set()
        # On SQLite the other transaction cannot start meanwhile, so it is not tested there.
        if deleting.wait(0.5):
            time.sleep(0.2)  # for its first statement, which must wait for this transaction
        add_keys(*arguments)

    def noticed(ask: Callable[[Database, int], Any]) -> Callable[[Database, int], Any]:
        def asked(db: Database, user_id: int) -> Any:
            if writing.is_set():
                deleting.set()
            return ask(db, user_id)

        return asked

    def delete() -> None:
        writing.wait(60)
        keystore.delete_user(platform_chain(), NAME, PASSWORD)

    monkeypatch.setattr(store, "add_keys", added)
    monkeypatch.setattr(store, "hold_user", noticed(hold_user))
    monkeypatch.setattr(store, "delete_user", noticed(delete_user))
    made, deleted = at_once(
        [lambda: keystore.create_address(platform_chain(), NAME, PASSWORD), delete]
    )

    assert isinstance(made, ShortID)
    assert deleted is None
    assert keystore.list_users(platform_chain()) == []
    assert models.KeystoreKey.objects.count() == 0


@pytest.mark.usefixtures("transactional_db")
@pytest.mark.node_settings(keystore_users=2)
def test_concurrent_creations_respect_the_user_limit(node_settings: Any) -> None:
    def create(number: int) -> Callable[[], None]:
        return lambda: keystore.create_user(platform_chain(), f"user {number}", PASSWORD)

    answers = at_once([create(number) for number in range(THREADS)])

    assert [reason_of(answer) for answer in answers if answer is not None] == [
        KeystoreReason.TOO_MANY_USERS
    ] * 2
    assert len(keystore.list_users(platform_chain())) == 2
