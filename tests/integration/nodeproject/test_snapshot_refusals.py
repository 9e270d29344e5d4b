"""Named snapshots that cannot be saved or restored: each is refused with its message, and nothing is changed."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from chaindb import generation
from chaindb.snapshots.port import SnapshotReason, SnapshotRefused, UnreadableSnapshot
from nodeproject.apps import this_node
from nodeproject.copies import snapshots as copied
from nodeproject.copies import tables
from nodeproject.copies.snapshot_manifest import NodeSnapshotReason
from nodeproject.copies.snapshots import DamagedSnapshot, NamedSnapshot
from platform_app.apps import platform_chain
from tests.builders.reasons import raises
from tests.integration.nodeproject.snapshots import Scene, partial_files, rows, with_settings


def test_a_name_has_small_letters_digits_and_two_signs(scene: Scene) -> None:
    for name in ("", "A", "a b", "ä", "../a", "a/b", "a.b", "x" * 41, "a\n"):
        with raises(
            SnapshotReason.BAD_NAME, kind=SnapshotRefused, match="is not a valid snapshot name"
        ):
            scene.snapshots.save(name)
        with raises(SnapshotReason.BAD_NAME, kind=SnapshotRefused):
            scene.snapshots.restore(name)
        with raises(SnapshotReason.BAD_NAME, kind=SnapshotRefused):
            scene.snapshots.delete(name)
    assert scene.snapshots.save("a-b_0" + "x" * 35).manifest.name.startswith("a-b_0")


def test_existing_name_is_overwritten_only_on_request(scene: Scene) -> None:
    scene.snapshots.save("a")
    scene.mine()
    with raises(
        SnapshotReason.NAME_TAKEN,
        kind=SnapshotRefused,
        match="there is a snapshot a already: --replace overwrites it",
    ):
        scene.snapshots.save("a")
    assert _heights(scene) == [0]
    scene.snapshots.save("a", replace=True)
    assert _heights(scene) == [1]


def test_missing_snapshot_cannot_be_restored_or_deleted(scene: Scene) -> None:
    before = rows()
    with raises(
        SnapshotReason.NO_SUCH_SNAPSHOT, kind=SnapshotRefused, match=r"there is no snapshot a$"
    ):
        scene.snapshots.restore("a")
    with raises(SnapshotReason.NO_SUCH_SNAPSHOT, kind=SnapshotRefused):
        scene.snapshots.delete("a")
    scene.snapshots.save("a")
    scene.snapshots.delete("a")
    assert scene.snapshots.all() == []
    with raises(SnapshotReason.NO_SUCH_SNAPSHOT, kind=SnapshotRefused):
        scene.snapshots.restore("a")
    assert rows() == before


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"consensus": "snowman"}, r"the validators vote \(NODE_CONSENSUS\)"),
        ({"bootstrap": ("127.0.0.1:1",)}, r"follows others \(NODE_BOOTSTRAP\)"),
    ],
)
def test_restore_is_refused_if_others_have_the_chain(
    scene: Scene, changed: dict[str, Any], words: str
) -> None:
    scene.snapshots.save("a")
    scene.mine()
    with (
        with_settings(**changed) as snapshots,
        raises(
            NodeSnapshotReason.NOT_ALONE,
            kind=SnapshotRefused,
            match=f"^development methods need a chain of this node alone: .*{words}",
        ),
    ):
        snapshots.restore("a")
    assert scene.head == 1


def test_restore_is_refused_while_peers_are_connected(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.snapshots.save("a")
    monkeypatch.setattr(copied.network, "peers", lambda: ["a peer"])
    with raises(NodeSnapshotReason.NOT_ALONE, kind=SnapshotRefused, match="peers are connected"):
        scene.snapshots.restore("a")


def test_restore_is_refused_on_a_follower(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.snapshots.save("a")
    monkeypatch.setattr(type(this_node().network.producer), "is_own", False)
    with raises(NodeSnapshotReason.NOT_ALONE, kind=SnapshotRefused, match="NODE_PRODUCER"):
        scene.snapshots.restore("a")


def test_snapshots_are_for_the_local_network(scene: Scene) -> None:
    with with_settings(network_id=5) as snapshots:
        for use in (
            snapshots.all,
            lambda: snapshots.save("a"),
            lambda: snapshots.restore("a"),
            lambda: snapshots.delete("a"),
        ):
            with raises(
                NodeSnapshotReason.SNAPSHOTS_NOT_AVAILABLE,
                kind=SnapshotRefused,
                match="this node is on network 5",
            ):
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
    here = tables.SNAPSHOT.names()
    with connection.cursor() as cursor:
        cursor.execute(statement)
    before = rows()
    with raises(
        NodeSnapshotReason.OTHER_CHAIN,
        kind=SnapshotRefused,
        match="the snapshot a belongs to another chain",
    ) as refused:
        scene.snapshots.restore("a")
    assert refused.value.values["what"] == what
    assert (rows(), tables.SNAPSHOT.names()) == (before, here)
    with connection.cursor() as cursor:  # for the checks of the chain after each test
        cursor.execute(statement.replace("= 7", f"= {refused.value.values['saved']}"))


@pytest.mark.parametrize("of", ["cchain_app", "platform_app"])
def test_another_genesis_is_not_restored(scene: Scene, of: str) -> None:
    scene.snapshots.save("a")
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT genesis_hash FROM {of}_chain")
        (genesis,) = cursor.fetchone()
        cursor.execute(f"UPDATE {of}_chain SET genesis_hash = %s", [bytes(32)])
    with raises(NodeSnapshotReason.OTHER_CHAIN, kind=SnapshotRefused) as refused:
        scene.snapshots.restore("a")
    assert "genesis" in refused.value.values["what"]
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {of}_chain SET genesis_hash = %s", [bytes(genesis)])


def test_snapshot_of_other_migrations_is_refused(scene: Scene) -> None:
    scene.snapshots.save("a")
    MigrationRecorder(connection).record_applied("cchain_app", "0099_later")
    try:
        with raises(
            NodeSnapshotReason.OTHER_MIGRATIONS,
            kind=SnapshotRefused,
            match=r"by the migration cchain_app\.0099_later$",
        ):
            scene.snapshots.restore("a")
    finally:
        MigrationRecorder(connection).record_unapplied("cchain_app", "0099_later")


def test_table_with_other_columns_is_refused(scene: Scene) -> None:
    scene.mine()
    scene.snapshots.save("a")
    scene.mine()
    before = rows()
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE platform_app_supply ADD COLUMN more integer")
    try:
        with raises(SnapshotReason.SNAPSHOT_TABLES_DIFFER, kind=SnapshotRefused) as refused:
            scene.snapshots.restore("a")
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE platform_app_supply DROP COLUMN more")
    assert refused.value.values["table"] == "platform_app_supply"
    assert rows() == before
    assert generation.number(platform_chain().db) == 0


def test_save_before_the_first_start_is_refused(transactional_db: None, node_settings: Any) -> None:
    with raises(NodeSnapshotReason.NO_CHAIN, kind=SnapshotRefused, match="no chain yet"):
        this_node().snapshots.save("a")
    assert this_node().snapshots.all() == []


def test_failed_save_or_restore_leaves_nothing(
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
    monkeypatch.setattr(copied.SnapshotManifest, "to_text", _fail)
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


def test_missing_schema_privilege_is_reported(scene: Scene) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("schemas are PostgreSQL's")
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE lesser")
        cursor.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO lesser")
        cursor.execute("SET ROLE lesser")
    try:
        with raises(
            SnapshotReason.NOT_PERMITTED, kind=SnapshotRefused, match="may not create schemas"
        ):
            scene.snapshots.save("a")
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET ROLE")
            cursor.execute("DROP OWNED BY lesser")
            cursor.execute("DROP ROLE lesser")


def _heights(scene: Scene) -> list[int]:
    found = [snapshot for snapshot in scene.snapshots.all() if isinstance(snapshot, NamedSnapshot)]
    return [item.manifest.cchain.height for item in found if item.manifest.cchain is not None]


def _file(name: str) -> Path:
    if connection.vendor != "sqlite":
        pytest.skip("files are SQLite's")
    return Path(this_node().settings.common.directory) / "snapshots" / name


def test_partial_copy_of_a_killed_process_is_no_snapshot_and_deleted_later(scene: Scene) -> None:
    part = _file("a.partial")
    scene.snapshots.save("b")
    part.write_bytes(b"SQLite format 3\0")
    (part.parent / "a.partial-journal").write_bytes(b"")
    assert [
        snapshot.manifest.name
        for snapshot in scene.snapshots.all()
        if isinstance(snapshot, NamedSnapshot)
    ] == ["b"]
    with raises(SnapshotReason.NO_SUCH_SNAPSHOT, kind=SnapshotRefused):
        scene.snapshots.restore("a")
    scene.snapshots.save("a")
    assert partial_files() == []


@pytest.mark.parametrize("damage", ["text", "cut", "of others"])
def test_damaged_file_is_refused_without_change(scene: Scene, damage: str) -> None:
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
        assert isinstance(listed, DamagedSnapshot)


def test_files_are_readable_by_the_owner_only(scene: Scene) -> None:
    path = _file("a.sqlite3")
    scene.snapshots.save("a")
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0
