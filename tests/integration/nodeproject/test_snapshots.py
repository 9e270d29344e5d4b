"""Named snapshots: a node goes back to where it was, wholly, whoever reads and writes meanwhile."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from cchain_app.selectors import blocks, pool
from chaindb import clock, generation
from chaindb.connections import release
from chaindb.snapshots.errors import (
    BadName,
    NameTaken,
    NoSuchSnapshot,
    NotPermitted,
    OtherTables,
    UnreadableSnapshot,
)
from chainvm.port import HeadMoved
from nodeproject.apps import this_node
from nodeproject.snapshots import service, tables
from nodeproject.snapshots.errors import (
    NoChain,
    NotAlone,
    NotLocal,
    OtherChain,
    OtherMigrations,
)
from nodeproject.snapshots.service import Snapshot, Unreadable
from platform_app.apps import platform_chain
from platform_app.selectors import stakers
from platform_app.services import keystore
from primitives.ids import PRIMARY_NETWORK_ID
from tests.builders.transactions import SENDER
from tests.integration.conftest import Chain
from tests.integration.nodeproject.snapshots import Scene, partial_files, rows, with_settings
from tests.integration.patience import SECONDS
from tests.integration.platform_app.conftest import PChain


@pytest.fixture
def scene(shared_chain: Chain, shared_pchain: PChain) -> Iterator[Scene]:
    """A node with both chains; its snapshots go with it."""
    made = Scene(shared_chain, shared_pchain)
    yield made
    for one in made.snapshots.all():
        made.snapshots.delete(one.name if isinstance(one, Unreadable) else one.manifest.name)


def test_everything_is_as_it_was(scene: Scene) -> None:
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


def test_this_process_answers_as_of_the_snapshot_at_once(scene: Scene) -> None:
    scene.mine()
    scene.snapshots.save("a")
    evm = scene.chain.evm
    assert pool.next_nonce(evm, SENDER) == 0
    members = stakers.current_validators(platform_chain(), PRIMARY_NETWORK_ID)
    scene.send()
    scene.mine()
    scene.send()
    assert pool.next_nonce(evm, SENDER) == 2

    scene.restore("a")

    assert scene.head == 1
    assert pool.next_nonce(evm, SENDER) == 0
    again = stakers.current_validators(platform_chain(), PRIMARY_NETWORK_ID)
    assert again == members
    assert again is not members  # read anew: a height may have another set by now


def test_blocks_go_on_from_the_snapshot(scene: Scene) -> None:
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
    assert [one.hash for one in second.transactions] == [one.hash for one in first.transactions]
    assert scene.pchain.build()
    this_node().network.evm.rows.raws(1, second.number, 1 << 20)


def test_a_certificate_that_went_with_the_rows_is_stored_again(scene: Scene) -> None:
    scene.snapshots.save("a")
    for _ in range(2):
        scene.mine()
        scene.mine()  # the child of a bare block is nobody's, this one is signed
        assert rows()["network_app_certificate"]
        scene.restore("a")
        assert not rows()["network_app_certificate"]


def test_a_block_that_is_under_way_is_not_accepted_after_it(scene: Scene) -> None:
    scene.mine()
    scene.snapshots.save("a")
    scene.send()
    consensus = this_node().network.evm.consensus
    with consensus.lock:
        outer = consensus.outer
        outer.set_preference(outer.last_accepted())
        built = outer.build(now=scene.chain.now + 1)
        assert built is not None
        scene.snapshots.restore("a")  # the same head, and an empty pool
        with pytest.raises(HeadMoved):
            outer.accept([built.block_id], written=lambda _: None)
    assert blocks.catch_up(scene.chain.evm).number == 1
    scene.mine()
    assert blocks.head(scene.chain.evm).transactions == ()


def test_the_node_goes_back_more_than_once_and_generations_only_rise(scene: Scene) -> None:
    db = platform_chain().db
    scene.snapshots.save("a")
    before = rows()
    for number in (1, 2, 3):
        scene.change_everything("alice")
        scene.restore("a")
        assert rows() == before
        assert generation.number(db) == number


def test_a_snapshot_that_was_made_while_others_write_is_of_one_moment(scene: Scene) -> None:
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
        this_node().network.evm.rows.raws(1, max(head.number, 1), 1 << 24)


def test_who_reads_meanwhile_sees_all_rows_before_or_all_after(scene: Scene) -> None:
    scene.snapshots.save("a")
    for _ in range(8):
        scene.send()
        scene.mine()
    ending = threading.Event()
    seen: set[tuple[int, int]] = set()

    def read() -> None:
        try:
            while not ending.is_set():
                with connection.cursor() as cursor:
                    cursor.execute(
                        "SELECT (SELECT count(*) FROM cchain_app_block),"
                        " (SELECT count(*) FROM cchain_app_transaction)"
                    )
                    seen.add(cursor.fetchone())
        finally:
            connection.close()

    reader = threading.Thread(target=read)
    reader.start()
    try:
        wait_until(lambda: bool(seen))
        scene.restore("a")
        wait_until(lambda: (1, 0) in seen)
    finally:
        ending.set()
        reader.join()
    assert seen == {(9, 8), (1, 0)}


def test_what_a_process_says_of_itself_and_people_stay(scene: Scene, admin_user: Any) -> None:
    scene.snapshots.save("a")
    admin_user.first_name = "Ada"
    admin_user.save()
    scene.snapshots.restore("a")
    admin_user.refresh_from_db()
    assert admin_user.first_name == "Ada"
    assert "auth_user" not in tables.tables()
    assert "network_app_peer" not in tables.tables()


def test_a_name_has_small_letters_digits_and_two_signs(scene: Scene) -> None:
    for name in ("", "A", "a b", "ä", "../a", "a/b", "a.b", "x" * 41, "a\n"):
        with pytest.raises(BadName, match="is no name for a snapshot"):
            scene.snapshots.save(name)
        with pytest.raises(BadName):
            scene.snapshots.restore(name)
        with pytest.raises(BadName):
            scene.snapshots.delete(name)
    assert scene.snapshots.save("a-b_0" + "x" * 35).manifest.name.startswith("a-b_0")


def test_a_name_that_is_taken_is_overwritten_by_wish_alone(scene: Scene) -> None:
    scene.snapshots.save("a")
    scene.mine()
    with pytest.raises(NameTaken, match="there is a snapshot a already: --replace overwrites it"):
        scene.snapshots.save("a")
    assert _heights(scene) == [0]
    scene.snapshots.save("a", replace=True)
    assert _heights(scene) == [1]


def test_what_is_not_there_is_neither_restored_nor_deleted(scene: Scene) -> None:
    before = rows()
    with pytest.raises(NoSuchSnapshot, match=r"there is no snapshot a$"):
        scene.snapshots.restore("a")
    with pytest.raises(NoSuchSnapshot):
        scene.snapshots.delete("a")
    scene.snapshots.save("a")
    scene.snapshots.delete("a")
    assert scene.snapshots.all() == []
    with pytest.raises(NoSuchSnapshot):
        scene.snapshots.restore("a")
    assert rows() == before


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"consensus": "snowman"}, r"the validators vote \(NODE_CONSENSUS\)"),
        ({"bootstrap": ("127.0.0.1:1",)}, r"follows others \(NODE_BOOTSTRAP\)"),
    ],
)
def test_where_others_have_the_chain_nothing_is_restored(
    scene: Scene, changed: dict[str, Any], words: str
) -> None:
    scene.snapshots.save("a")
    scene.mine()
    with (
        with_settings(**changed) as snapshots,
        pytest.raises(
            NotAlone, match=f"^development methods need a chain of this node alone: .*{words}"
        ),
    ):
        snapshots.restore("a")
    assert scene.head == 1


def test_while_peers_are_connected_nothing_is_restored(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.snapshots.save("a")
    monkeypatch.setattr(service.network, "peers", lambda: ["somebody"])
    with pytest.raises(NotAlone, match="peers are connected"):
        scene.snapshots.restore("a")


def test_where_another_node_makes_the_blocks_nothing_is_restored(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.snapshots.save("a")
    monkeypatch.setattr(type(this_node().network.producer), "is_own", False)
    with pytest.raises(NotAlone, match="NODE_PRODUCER"):
        scene.snapshots.restore("a")


def test_snapshots_are_for_the_local_network(scene: Scene) -> None:
    with with_settings(network_id=5) as snapshots:
        for use in (
            snapshots.all,
            lambda: snapshots.save("a"),
            lambda: snapshots.restore("a"),
            lambda: snapshots.delete("a"),
        ):
            with pytest.raises(NotLocal, match="this node is on network 5"):
                use()


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("UPDATE cchain_app_chain SET chain_id = 7", "C-Chain's chain ID"),
        ("UPDATE platform_app_chain SET network_id = 7", "network"),
    ],
)
def test_another_chain_is_not_restored(scene: Scene, statement: str, what: str) -> None:
    scene.snapshots.save("a")
    scene.mine()
    here = tables.tables()
    with connection.cursor() as cursor:
        cursor.execute(statement)
    before = rows()
    with pytest.raises(OtherChain, match="the snapshot a is of another chain") as refused:
        scene.snapshots.restore("a")
    assert refused.value.what == what
    assert (rows(), tables.tables()) == (before, here)
    with connection.cursor() as cursor:  # for what looks at the chain after each test
        cursor.execute(statement.replace("= 7", f"= {refused.value.saved}"))


@pytest.mark.parametrize("of", ["cchain_app", "platform_app"])
def test_another_genesis_is_not_restored(scene: Scene, of: str) -> None:
    scene.snapshots.save("a")
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT genesis_hash FROM {of}_chain")
        (genesis,) = cursor.fetchone()
        cursor.execute(f"UPDATE {of}_chain SET genesis_hash = %s", [bytes(32)])
    with pytest.raises(OtherChain) as refused:
        scene.snapshots.restore("a")
    assert "genesis" in refused.value.what
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {of}_chain SET genesis_hash = %s", [bytes(genesis)])


def test_what_other_migrations_made_is_not_restored(scene: Scene) -> None:
    scene.snapshots.save("a")
    MigrationRecorder(connection).record_applied("cchain_app", "0099_later")
    try:
        with pytest.raises(OtherMigrations, match=r"by the migration cchain_app\.0099_later$"):
            scene.snapshots.restore("a")
    finally:
        MigrationRecorder(connection).record_unapplied("cchain_app", "0099_later")


def test_a_table_with_other_columns_is_not_restored(scene: Scene) -> None:
    scene.mine()
    scene.snapshots.save("a")
    scene.mine()
    before = rows()
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE platform_app_supply ADD COLUMN more integer")
    try:
        with pytest.raises(OtherTables) as refused:
            scene.snapshots.restore("a")
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE platform_app_supply DROP COLUMN more")
    assert refused.value.table == "platform_app_supply"
    assert rows() == before
    assert generation.number(platform_chain().db) == 0


def test_before_the_first_start_there_is_nothing_to_save(
    transactional_db: None, node_settings: Any
) -> None:
    with pytest.raises(NoChain, match="no chain yet"):
        this_node().snapshots.save("a")
    assert this_node().snapshots.all() == []


def test_what_fails_on_the_way_leaves_neither_a_part_nor_a_change(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.mine()
    scene.snapshots.save("a")
    scene.mine()
    before = rows()
    with (
        connection.execute_wrapper(_failing_at("platform_app_utxo")),
        pytest.raises(RuntimeError, match="on the way"),
    ):
        scene.snapshots.restore("a")
    assert rows() == before
    assert generation.number(platform_chain().db) == 0
    monkeypatch.setattr(service.Manifest, "to_text", _fail)
    with pytest.raises(RuntimeError, match="on the way"):
        scene.snapshots.save("a", replace=True)
    with pytest.raises(RuntimeError, match="on the way"):
        scene.snapshots.save("b")
    monkeypatch.undo()
    assert _heights(scene) == [1]
    assert partial_files() == []
    scene.snapshots.restore("a")
    assert scene.head == 1


def _failing_at(table: str) -> Any:
    def execute(run: Any, sql: str, *arguments: Any) -> Any:
        if sql.startswith("INSERT") and f'"{table}"' in sql:
            raise RuntimeError("on the way")
        return run(sql, *arguments)

    return execute


def _fail(_: object) -> str:
    raise RuntimeError("on the way")


def test_a_user_who_may_not_make_schemas_is_told_so(scene: Scene) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("schemas are PostgreSQL's")
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE lesser")
        cursor.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO lesser")
        cursor.execute("SET ROLE lesser")
    try:
        with pytest.raises(NotPermitted, match="may not make schemas"):
            scene.snapshots.save("a")
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET ROLE")
            cursor.execute("DROP OWNED BY lesser")
            cursor.execute("DROP ROLE lesser")


def wait_until(come: Callable[[], bool]) -> None:
    """Wait for what must come."""
    until = time.monotonic() + SECONDS
    while not come():
        assert time.monotonic() < until
        time.sleep(0.005)


def _heights(scene: Scene) -> list[int]:
    found = [one for one in scene.snapshots.all() if isinstance(one, Snapshot)]
    return [one.manifest.cchain.height for one in found if one.manifest.cchain is not None]


def _file(name: str) -> Path:
    if connection.vendor != "sqlite":
        pytest.skip("files are SQLite's")
    return Path(this_node().settings.directory) / "snapshots" / name


def test_what_a_kill_left_of_a_copy_is_none_and_goes_with_the_next_one(scene: Scene) -> None:
    part = _file("a.partial")
    scene.snapshots.save("b")
    part.write_bytes(b"SQLite format 3\0")
    (part.parent / "a.partial-journal").write_bytes(b"")
    assert [one.manifest.name for one in scene.snapshots.all() if isinstance(one, Snapshot)] == [
        "b"
    ]
    with pytest.raises(NoSuchSnapshot):
        scene.snapshots.restore("a")
    scene.snapshots.save("a")
    assert partial_files() == []


@pytest.mark.parametrize("damage", ["text", "cut", "of others"])
def test_a_file_that_is_damaged_is_refused_and_changes_nothing(scene: Scene, damage: str) -> None:
    path = _file("a.sqlite3")
    for _ in range(3):
        scene.mine()
    scene.snapshots.save("a")
    scene.mine()
    before = rows()
    if damage == "text":
        path.write_text("no database, and as long as the header of one " * 20)
    elif damage == "cut":
        with path.open("r+b") as file:
            file.truncate(path.stat().st_size // 4096 // 2 * 4096)
    else:
        path.unlink()
        with sqlite3.connect(path) as other:
            other.execute("CREATE TABLE description (text TEXT)")
            other.execute("INSERT INTO description VALUES ('{}')")
    with pytest.raises(UnreadableSnapshot, match="the snapshot a cannot be read"):
        scene.snapshots.restore("a")
    assert rows() == before
    if damage != "cut":
        (listed,) = scene.snapshots.all()
        assert isinstance(listed, Unreadable)


def test_files_are_their_owners_alone(scene: Scene) -> None:
    path = _file("a.sqlite3")
    scene.snapshots.save("a")
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0
