"""Named snapshots: a node returns to its earlier state completely, during any reads and writes."""

import threading
import time
from math import inf
from typing import Any

import pytest
from django.db import connection

from cchain_app.selectors import blocks, pool
from cchain_app.services.cheats import set_chain_id
from cchain_app.store import calls
from chaindb import clock, generation
from chaindb.connections import release
from chaindb.database import Database
from chainvm.port import BlockContext, HeadMoved
from nodeproject.apps import this_node
from nodeproject.copies import snapshots as copied
from nodeproject.copies import tables
from platform_app.apps import platform_chain
from platform_app.memory import answers
from platform_app.memory.answers import ALWAYS
from platform_app.selectors import stakers
from platform_app.services import keystore
from primitives.ids import PRIMARY_NETWORK_ID
from tests.builders.transactions import SENDER
from tests.integration.explorer_app import token_chain
from tests.integration.nodeproject.snapshots import Scene, rows
from tests.integration.patience import SECONDS


def test_restore_returns_all_rows(scene: Scene) -> None:
    scene.change_everything("alice")
    before = rows()
    assert all(before[table] for table in ("chaindb_clock", "cchain_app_pooltransaction"))
    assert before["network_app_outerblock"]
    assert before["platform_app_keystorekey"]
    scene.snapshots.save("a")
    assert rows() == before
    scene.change_everything("bob")
    scene.mine()
    changed = rows()
    assert {table for table in before if changed[table] == before[table]}.isdisjoint(
        {"chaindb_clock", "cchain_app_block", "cchain_app_node", "platform_app_block"}
    )

    restored = scene.restore("a")

    assert rows() == before
    assert restored.behind == []
    assert clock.offset() == 100
    assert keystore.list_users(platform_chain()) == ["alice"]


def test_this_process_answers_as_of_the_snapshot_at_once(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.mine()
    scene.snapshots.save("a")
    evm = scene.chain.evm
    assert pool.next_nonce(evm, SENDER) == 0
    members = stakers.current_validators(platform_chain(), PRIMARY_NETWORK_ID)
    answered = platform_chain().answers
    answered.check_rows()
    answered.read(("asked",), lambda: (b"answered", ALWAYS))
    monkeypatch.setattr(answers, "MAX_AGE", inf)
    monkeypatch.setattr(copied, "MAX_AGE", 0.0)
    assert answered.get(("asked",)) == b"answered"
    scene.send()
    scene.mine()
    scene.send()
    assert pool.next_nonce(evm, SENDER) == 2

    scene.restore("a")

    assert scene.head == 1
    assert pool.next_nonce(evm, SENDER) == 0
    again = stakers.current_validators(platform_chain(), PRIMARY_NETWORK_ID)
    assert again == members
    assert again is not members  # read again: a height may have another set by now
    assert answered.get(("asked",)) is None


def test_blocks_continue_from_the_snapshot(scene: Scene) -> None:
    scene.change_everything("alice")
    scene.snapshots.save("a")
    scene.mine()
    scene.pchain.build()
    first = blocks.head(scene.chain.evm)

    scene.restore("a")
    scene.chain.now += 7
    scene.mine()

    second = blocks.head(scene.chain.evm)
    assert second.number == first.number
    assert second.hash != first.hash
    assert [item.hash for item in second.transactions] == [
        transaction.hash for transaction in first.transactions
    ]
    assert scene.pchain.build()
    this_node().network.chains["C"].rows.raws(1, second.number, 1 << 20)


def test_token_index_is_restored_and_continues(scene: Scene) -> None:
    scene.use_tokens()
    before = token_chain.everything()
    assert all(before.values())
    scene.snapshots.save("a")
    scene.use_tokens()
    scene.use_tokens()
    assert token_chain.everything() != before

    scene.restore("a")
    assert token_chain.everything() == before

    scene.use_tokens()
    gone_on = token_chain.everything()
    assert len(gone_on["tokens"]) == 2 * len(before["tokens"])
    token_chain.forget()
    scene.index_tokens()
    assert token_chain.everything() == gone_on


_WAITS = "SELECT 1 FROM pg_locks WHERE NOT granted AND pid <> pg_backend_pid() LIMIT 1"


@pytest.mark.skipif(
    "connection.vendor != 'postgresql'",
    reason="SQLite has one writer at a time, and no rows to lock",
)
@pytest.mark.parametrize(
    ("progress", "written"),
    [
        ("cchain_app_callprogress", "cchain_app_call"),
        ("explorer_app_tokenprogress", "explorer_app_token"),
    ],
)
def test_a_restore_waits_for_indexers(scene: Scene, progress: str, written: str) -> None:
    scene.use_tokens()
    calls.begin(platform_chain().db)
    scene.snapshots.save("a")
    holding = threading.Event()
    failures: list[BaseException] = []

    def write() -> None:
        db = Database()
        try:
            with db.atomic():
                db.rows(f"SELECT 1 FROM {progress} FOR UPDATE")
                holding.set()
                until = time.monotonic() + SECONDS
                while db.row(_WAITS) is None:
                    assert time.monotonic() < until, "nobody waits"
                db.execute(f"DELETE FROM {written}")
        except BaseException as error:
            failures.append(error)
        finally:
            holding.set()
            connection.close()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert holding.wait(SECONDS)
        scene.restore("a")
    finally:
        writer.join()
    assert failures == []
    assert token_chain.transfers()


def test_chain_id_is_restored(scene: Scene) -> None:
    evm = scene.chain.evm
    first = evm.config.chain_id
    scene.snapshots.save("a")
    set_chain_id(evm, 31_337)
    scene.snapshots.save("b")
    scene.mine()

    scene.restore("a")
    assert evm.config.chain_id == first
    scene.send()
    scene.mine()
    assert len(blocks.head(evm).transactions) == 1

    scene.restore("b")
    assert evm.config.chain_id == 31_337


def test_certificate_removed_by_a_restore_is_stored_again(scene: Scene) -> None:
    scene.snapshots.save("a")
    for _ in range(2):
        scene.mine()
        scene.mine()  # the child of a block without an outer block is unsigned; this one is signed
        assert rows()["network_app_certificate"]
        scene.restore("a")
        assert not rows()["network_app_certificate"]


def test_block_in_progress_is_not_accepted_after_a_restore(scene: Scene) -> None:
    scene.mine()
    scene.snapshots.save("a")
    scene.send()
    deferred = this_node().network.chains["C"].vm
    with deferred.lock:
        outer = deferred.get()
        outer.set_preference(outer.last_accepted())
        built = outer.build(BlockContext(scene.chain.now + 1))
        assert built is not None
        scene.snapshots.restore("a")  # the same head, and an empty pool
        with pytest.raises(HeadMoved):
            outer.accept([built.block_id], written=lambda _: None)
    assert blocks.catch_up(scene.chain.evm).number == 1
    scene.mine()
    assert blocks.head(scene.chain.evm).transactions == ()


def test_repeated_restores_increase_the_generation(scene: Scene) -> None:
    db = platform_chain().db
    scene.snapshots.save("a")
    before = rows()
    for number in (1, 2, 3):
        scene.change_everything("alice")
        scene.restore("a")
        assert rows() == before
        assert generation.number(db) == number


def test_snapshot_during_writes_is_consistent(scene: Scene) -> None:
    ending = threading.Event()
    failures: list[BaseException] = []

    def write() -> None:
        try:
            while not ending.is_set():
                scene.send()
                scene.mine()
        except BaseException as error:
            failures.append(error)
        finally:
            release()
            connection.close()

    writer = threading.Thread(target=write)
    writer.start()
    saved = []
    try:
        while len(saved) < 3 or scene.head < 20:
            saved.append(scene.snapshots.save(f"s{len(saved)}").manifest)
    finally:
        ending.set()
        writer.join()
    assert failures == []
    for manifest in saved:
        scene.restore(manifest.name)
        head = blocks.head(scene.chain.evm)
        assert manifest.cchain is not None
        assert (head.number, f"0x{head.hash.hex()}") == (manifest.cchain.height, manifest.cchain.id)
        assert len(rows()["cchain_app_block"]) == head.number + 1
        this_node().network.chains["C"].rows.raws(1, max(head.number, 1), 1 << 24)


def test_concurrent_readers_see_all_rows_before_or_after_the_restore(scene: Scene) -> None:
    scene.snapshots.save("a")
    for _ in range(8):
        scene.send()
        scene.mine()
    ending = threading.Event()
    read_once_more = threading.Condition()
    seen: set[tuple[int, int]] = set()

    def read() -> None:
        try:
            while not ending.is_set():
                with connection.cursor() as cursor:
                    cursor.execute(
                        "SELECT (SELECT count(*) FROM cchain_app_block),"
                        " (SELECT count(*) FROM cchain_app_transaction)"
                    )
                    found = cursor.fetchone()
                with read_once_more:
                    seen.add(found)
                    read_once_more.notify_all()
        finally:
            connection.close()

    def wait_to_see(counts: tuple[int, int]) -> None:
        with read_once_more:
            assert read_once_more.wait_for(lambda: counts in seen, SECONDS)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        wait_to_see((9, 8))
        scene.restore("a")
        wait_to_see((1, 0))
    finally:
        ending.set()
        reader.join()
    assert seen == {(9, 8), (1, 0)}


def test_process_reports_and_users_are_not_restored(scene: Scene, admin_user: Any) -> None:
    scene.snapshots.save("a")
    admin_user.first_name = "Ada"
    admin_user.save()
    scene.snapshots.restore("a")
    admin_user.refresh_from_db()
    assert admin_user.first_name == "Ada"
    assert "auth_user" not in tables.SNAPSHOT.names()
    assert "network_app_peer" not in tables.SNAPSHOT.names()
