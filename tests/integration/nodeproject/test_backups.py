"""A backup contains the whole node as of one moment, in a file that is complete or absent."""

import json
import re
import threading
import zipfile
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder

from chaindb import last_backup
from chaindb.connections import release
from chaindb.database import Database
from chaindb.models import LastBackup
from nodeproject.apps import this_node
from nodeproject.copies import backup_archive, backups, tables
from nodeproject.copies.backup_manifest import BackupManifest, BackupReason, BackupRefused
from nodeproject.settings.node import NodeSettings
from tests.builders.node_settings import updated
from tests.builders.reasons import raises
from tests.integration.nodeproject.backed_up import (
    ALIASES,
    SECOND,
    rows,
    save,
)
from tests.integration.nodeproject.snapshots import Scene

pytestmark = pytest.mark.django_db(transaction=True, databases=ALIASES)


def test_every_table_except_the_listed_ones_is_saved() -> None:
    carried = {table.name for table in tables.EVERYTHING.tables()}
    assert set(connection.introspection.table_names()) - carried == {
        "chaindb_lastbackup",
        "django_migrations",
        "django_session",
        "django_celery_beat_clockedschedule",
        "django_celery_beat_crontabschedule",
        "django_celery_beat_intervalschedule",
        "django_celery_beat_periodictask",
        "django_celery_beat_periodictasks",
        "django_celery_beat_solarschedule",
    }


def test_file_is_readable_by_the_owner_only_and_leaves_no_temporary_file(saved: Path) -> None:
    assert saved.stat().st_mode & 0o777 == 0o600
    assert list(saved.parent.iterdir()) == [saved]


def test_time_of_the_last_complete_backup_is_stored(saved: Path, tmp_path: Path) -> None:
    first = last_backup.find(Database())
    assert first is not None
    assert (first.size, LastBackup.objects.count()) == (saved.stat().st_size, 1)
    assert abs(saved.stat().st_mtime - first.finished_at.timestamp()) < 60
    assert first.seconds > 0

    save(tmp_path / "public.backup", keys=False)

    second = last_backup.find(Database())
    assert second is not None
    assert second.finished_at > first.finished_at
    assert second.size < first.size


def test_a_backup_is_complete_though_the_database_takes_no_writes(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise OperationalError("database or disk is full")

    monkeypatch.setattr(last_backup, "record", full)
    path = tmp_path / "node.backup"
    save(path)
    with backup_archive.reading(path) as archive:
        assert archive.manifest.standing.pchain
    assert f"the backup {path} is complete, but the database does not record it" in caplog.text


def test_oldest_backups_in_a_directory_are_deleted_and_other_files_kept(
    scene: Scene, tmp_path: Path
) -> None:
    node, names = this_node(), [f"node-2026010{day}T030000Z.backup" for day in range(1, 5)]
    place = tmp_path / "backups"
    place.mkdir()
    for name in (*names, "node.backup", "notes.txt"):
        (place / name).write_bytes(b"")

    path, manifest, old = backups.backup_into(node.settings, node.platform_chain.db, place, keep=3)

    assert [found.name for found in old] == names[:2]
    assert {found.name for found in place.iterdir()} == {
        *names[2:], path.name, "node.backup", "notes.txt"
    }  # fmt: skip
    with backup_archive.reading(path) as archive:
        assert archive.manifest == manifest


def test_commands_report_deletion_and_verification(
    scene: Scene, tmp_path: Path, settings_of_second: NodeSettings
) -> None:
    out = StringIO()
    call_command("backup", str(tmp_path / "0.backup"), stdout=out)
    (tmp_path / "node-20260101T030000Z.backup").write_bytes(b"")
    call_command("backup", "--keep", "1", str(tmp_path), stdout=out)
    call_command("restore", "--verify-only", str(tmp_path / "0.backup"), stdout=out)
    assert "Deleted node-20260101T030000Z.backup." in out.getvalue()
    assert re.search(r"Verified \S+0.backup: .* rows, state root 0x\w{64} verified", out.getvalue())
    with pytest.raises(
        CommandError, match=r"--keep needs a directory, but .*/a is not a directory"
    ):
        call_command("backup", "--keep", "1", str(tmp_path / "a"))
    with pytest.raises(CommandError, match="'0' is not a whole number above 0"):
        call_command("backup", "--keep", "0", str(tmp_path))


def test_session_and_faucet_keys_are_not_saved(scene: Scene, tmp_path: Path) -> None:
    key = tmp_path / "faucet.key"
    key.write_text("5a" * 32)
    node, path = this_node(), tmp_path / "node.backup"
    settings = updated(node.settings, faucet_key_file=str(key))
    backups.backup(settings, node.platform_chain.db, path)
    with zipfile.ZipFile(path) as file:
        parts = [file.read(name) for name in file.namelist()]
    assert node.settings.signer_path.read_bytes() in parts
    for secret in (django_settings.SECRET_KEY.encode(), key.read_bytes(), bytes.fromhex("5a" * 32)):
        assert not any(secret in part for part in parts)


def test_backup_during_writes_is_consistent(
    scene: Scene, settings_of_second: NodeSettings, tmp_path: Path
) -> None:
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
    made: list[BackupManifest] = []
    try:
        while len(made) < 3 or scene.head < 20:
            made.append(save(tmp_path / f"{len(made)}.backup"))
    finally:
        ending.set()
        writer.join()
    assert failures == []
    heights = [item.standing.cchain.height for item in made if item.standing.cchain]
    assert heights == sorted(heights)
    backups.restore(settings_of_second, SECOND, tmp_path / f"{len(made) - 1}.backup")
    assert len(rows(SECOND)["cchain_app_block"]) == heights[-1] + 1


def test_a_failed_backup_leaves_no_file(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(backup_archive.ArchiveWriter, "add_file", full)
    place = tmp_path / "backups"
    place.mkdir()
    with pytest.raises(OSError, match="No space left"):
        save(place / "a")
    assert list(place.iterdir()) == []


def test_backup_without_a_chain_is_refused(scene: Scene, tmp_path: Path) -> None:
    with raises(
        BackupReason.NO_CHAIN, kind=BackupRefused, match="this node has no chain yet: start it once"
    ):
        backups.backup(this_node().settings, SECOND, tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_commands_report_success_and_refusal(saved: Path, tmp_path: Path) -> None:
    out = StringIO()
    call_command("backup", str(tmp_path / "again"), "--without-keys", stdout=out)
    assert f"Saved {tmp_path}/again: C-Chain at 5, P-Chain at 1, " in out.getvalue()
    assert "It contains no keys: neither the node's identity nor the keystore." in out.getvalue()
    with pytest.raises(CommandError, match=r"^The file .*/again exists already"):
        call_command("backup", str(tmp_path / "again"))
    with pytest.raises(CommandError, match=r"^The database here is not empty"):
        call_command("restore", str(saved))


def test_manifest_lists_the_applied_migrations(saved: Path) -> None:
    applied = set(MigrationRecorder(connection).applied_migrations())
    with backup_archive.reading(saved) as found:
        assert ("cchain_app", "0001_initial") in applied
        assert {tuple(migration.split(".")) for migration in found.manifest.migrations} <= applied
    with zipfile.ZipFile(saved) as file:
        assert json.loads(file.read("manifest.json"))["version"] == found.manifest.version
