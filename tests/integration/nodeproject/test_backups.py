"""A backup contains the whole node as of one moment, and is restored only into an empty place, or not at all."""

import json
import os
import re
import sqlite3
import threading
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import pytest
from django.conf import settings as django_settings
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder

from cchain_app.selectors import blocks, rebuilding
from chaindb import last_backup
from chaindb.connections import release
from chaindb.database import Database
from chaindb.models import LastBackup
from explorer_app.models import (
    FaucetPayment,
    SuppliedAbi,
    Verification,
    VerificationState,
    VerifiedContract,
)
from health_app import services as health
from health_app.result import CheckResult
from nodeproject.apps import this_node
from nodeproject.copies import backup_archive, backups, tables
from nodeproject.copies.backup_manifest import BackupManifest, BackupReason, BackupRefused
from nodeproject.settings.node import NodeSettings
from tests.builders import bytecode
from tests.builders.node_settings import updated
from tests.builders.reasons import raises
from tests.builders.transactions import SENDER
from tests.integration.nodeproject.snapshots import Scene

CLIENT = "203.0.113.9"
"""Address of the client that submitted sources."""
ALIASES = ("default", "second")
SECOND = Database("second")

pytestmark = pytest.mark.django_db(transaction=True, databases=ALIASES)

Rows = dict[str, list[Any]]


def rows(db: Database, *, keys: bool = True) -> Rows:
    """Return all rows that a backup contains, by table."""
    return {
        table.name: list(table.read(db))
        for table in (tables.EVERYTHING if keys else tables.WITHOUT_PEOPLE).tables()
    }


def counts(db: Database) -> dict[str, int]:
    """Return the number of rows that were not created together with the tables."""
    found = tables.EVERYTHING.counts(db)
    return {name: count for name, count in found.items() if count}


@pytest.fixture
def settings_of_second(tmp_path: Path) -> NodeSettings:
    """The settings of a node in an empty data directory."""
    directory = tmp_path / "second"
    directory.mkdir()
    return updated(this_node().settings, data_dir=str(directory))


@pytest.fixture
def saved(scene: Scene, tmp_path: Path) -> Path:
    """A backup of a node with rows in every table that can have rows here."""
    contract = bytecode.deploy_code(bytecode.STORE)
    created = bytecode.created(SENDER, scene.chain.nonce)
    scene.chain.do(to=None, data=contract, gas=500_000, value=0)
    scene.chain.do(to=created, data=bytecode.words(1, 2**256 - 1), gas=100_000, value=0)
    scene.use_tokens()
    explain(created)
    FaucetPayment.objects.create(
        recipient=b"C" + SENDER, client=CLIENT, coins=1, paid_at=datetime(2026, 1, 2, tzinfo=UTC)
    )
    scene.change_everything("alice")
    get_user_model().objects.create_superuser("ada", "", "a password of hers")
    health.record(Database(), "network", _failing("alone"))
    path = tmp_path / "backups" / "node.backup"
    path.parent.mkdir()
    save(path)
    return path


def explain(contract: bytes) -> None:
    """Add the sources and the ABI of a contract, and their submission by a client."""
    now, code_hash = datetime(2026, 1, 2, tzinfo=UTC), bytes(31) + b"\x01"
    texts = {
        "name": "Store",
        "path": "Store.sol",
        "compiler": "0.8.28+commit.7893614a",
        "license": "",
    }
    verified = VerifiedContract.objects.create(
        **texts, address=contract, code_hash=code_hash, runtime_match="match", language="Solidity", input="{}",
        is_single_file=False, note="", abi="[]", metadata="{}", artifacts="{}", arguments=b"\x00\xff",
        libraries="{}", immutables="{}", verified_at=now,
    )  # fmt: skip
    SuppliedAbi.objects.create(
        address=contract, code_hash=code_hash, name="", abi="[]", supplied_at=now
    )
    Verification.objects.create(
        **texts, id="a", digest=bytes(32), address=contract, code_hash=code_hash, client=CLIENT, input="{}",
        is_single_file=False, knows_evm_version=True, state=VerificationState.PASSED, worker="", tries=1,
        submitted_at=now, finished_at=now, reason="", message="", details="{}", contract=verified,
    )  # fmt: skip


def _failing(words: str) -> CheckResult:
    return CheckResult(error=words, message={"peers": 0}, ended=1_700_000_000_123_456_000)


def save(path: Path, *, keys: bool = True) -> BackupManifest:
    node = this_node()
    return backups.backup(node.settings, node.platform_chain.db, path, keys=keys)


def test_every_row_and_file_is_restored_into_an_empty_database(
    saved: Path, settings_of_second: NodeSettings
) -> None:
    before = rows(Database())
    assert before["platform_app_keystorekey"]
    assert before["network_app_outerblock"]
    assert before["cchain_app_storageslot"]
    assert before["cchain_app_pooltransaction"]
    assert before["health_app_healthchange"]
    assert all(rows for name, rows in before.items() if name.startswith("explorer_app_"))

    manifest = backups.restore(settings_of_second, SECOND, saved)

    assert rows(SECOND) == before == rows(Database())
    own, there = this_node().settings, settings_of_second
    for path, other in (
        (own.certificate_path, there.certificate_path),
        (own.staking_key_path, there.staking_key_path),
        (own.signer_path, there.signer_path),
    ):
        assert other.read_bytes() == path.read_bytes()
        assert other.stat().st_mode & 0o777 == 0o600
    head = blocks.head(this_node().evm_chain)
    assert manifest.standing.state_root == f"0x{head.header.state_root.hex()}"
    assert {name: kept.rows for name, kept in manifest.tables.items() if kept.rows} == counts(
        Database()
    )


def test_every_table_is_saved_but_those_that_are_named_here() -> None:
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


def test_the_next_row_of_a_restored_table_has_a_key_of_its_own(
    saved: Path, settings_of_second: NodeSettings
) -> None:
    backups.restore(settings_of_second, SECOND, saved)
    users = get_user_model().objects.using("second")
    there = set(users.values_list("pk", flat=True))
    assert users.create(username="bob").pk not in there


def test_the_file_is_for_its_owner_alone_and_nothing_is_left_beside_it(saved: Path) -> None:
    assert saved.stat().st_mode & 0o777 == 0o600
    assert list(saved.parent.iterdir()) == [saved]


def test_the_database_tells_when_the_last_backup_was_complete(saved: Path, tmp_path: Path) -> None:
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


def test_in_a_directory_the_latest_files_are_kept_and_others_are_not_touched(
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


def test_a_file_is_verified_without_changing_a_node(
    changed: Callable[..., Path], saved: Path, settings_of_second: NodeSettings
) -> None:
    before = rows(Database())
    with backup_archive.reading(saved) as archive:
        assert backups.verify_file(settings_of_second, saved) == archive.manifest
    path = changed(of_rows=_richer)
    with raises(BackupReason.NOT_THE_SAME, kind=BackupRefused, match="the state should be"):
        backups.verify_file(settings_of_second, path)
    assert rows(Database()) == before
    assert list(settings_of_second.common.directory.iterdir()) == []


def test_the_commands_tell_what_they_did(
    scene: Scene, tmp_path: Path, settings_of_second: NodeSettings
) -> None:
    out = StringIO()
    call_command("backup", str(tmp_path / "0.backup"), stdout=out)
    (tmp_path / "node-20260101T030000Z.backup").write_bytes(b"")
    call_command("backup", "--keep", "1", str(tmp_path), stdout=out)
    call_command("restore", "--verify-only", str(tmp_path / "0.backup"), stdout=out)
    assert "Deleted node-20260101T030000Z.backup." in out.getvalue()
    assert re.search(r"Verified \S+0.backup: .* rows, state root 0x\w{64} verified", out.getvalue())
    with pytest.raises(CommandError, match=r"--keep needs a directory, and .*/a is none"):
        call_command("backup", "--keep", "1", str(tmp_path / "a"))
    with pytest.raises(CommandError, match="'0' is not a whole number above 0"):
        call_command("backup", "--keep", "0", str(tmp_path))


def test_keys_of_sessions_and_of_the_faucet_are_not_in_it(scene: Scene, tmp_path: Path) -> None:
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


def test_without_keys_there_is_nothing_of_keys_and_people_in_it(
    saved: Path, settings_of_second: NodeSettings, tmp_path: Path
) -> None:
    path = tmp_path / "public.backup"
    manifest = save(path, keys=False)
    assert not manifest.has_keys
    signer = this_node().settings.signer_path.read_bytes()
    with zipfile.ZipFile(path) as file:
        names = file.namelist()
        for secret in (signer, CLIENT.encode()):
            assert not any(secret in file.read(name) for name in names)
    assert not [name for name in names if "keystore" in name or "auth_user" in name]
    assert not [name for name in names if name.startswith(("files/staking", "files/admin"))]

    backups.restore(settings_of_second, SECOND, path)

    assert rows(SECOND, keys=False) == rows(Database(), keys=False)
    assert not settings_of_second.signer_path.exists()
    assert {"auth_user", "explorer_app_verification"}.isdisjoint(counts(SECOND))
    assert "explorer_app_verifiedcontract" in counts(SECOND)


def test_a_backup_that_was_made_while_others_write_is_of_one_moment(
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


@pytest.fixture
def changed(saved: Path, tmp_path: Path) -> Callable[..., Path]:
    """Return a function that makes a backup with some differences from the saved one."""

    def change(
        of_rows: Callable[[str, list[Any]], list[Any]] = lambda _, rows: rows,
        of_manifest: Callable[[Any], Any] = lambda manifest: manifest,
    ) -> Path:
        path = tmp_path / "changed.backup"
        with backup_archive.reading(saved) as source, backup_archive.writing(path) as made:
            for table in tables.EVERYTHING.tables():
                rows = [list(row) for row in source.rows(table)]
                made.add_rows(table.name, of_rows(table.name, rows))
            for name, content in source.files(source.manifest.files).items():
                made.add_file(name, content)
            made.finish(of_manifest(source.manifest))
        return path

    return change


def _richer(name: str, found: list[Any]) -> list[Any]:
    if name == "cchain_app_account":
        found[0][2] = str(int(found[0][2]) + 1)
    return found


def _fewer(name: str, found: list[Any]) -> list[Any]:
    return found[:-1] if name == "cchain_app_transaction" else found


def _another_head(manifest: BackupManifest) -> BackupManifest:
    head = msgspec.structs.replace(manifest.standing.pchain, height=7)
    standing = msgspec.structs.replace(manifest.standing, pchain=head)
    return msgspec.structs.replace(manifest, standing=standing)


def test_what_is_not_as_it_was_saved_is_not_kept(
    changed: Callable[..., Path], settings_of_second: NodeSettings
) -> None:
    before = counts(SECOND)
    for words, difference in (
        ("the state should be .* accounts and storage make the state root", {"of_rows": _richer}),
        ("the number of rows of cchain_app_transaction should be 7", {"of_rows": _fewer}),
        ("the heads of the chains should be", {"of_manifest": _another_head}),
    ):
        path = changed(**difference)
        with raises(BackupReason.NOT_THE_SAME, kind=BackupRefused, match=words):
            backups.restore(settings_of_second, SECOND, path)
        path.unlink()
        assert counts(SECOND) == before
        assert not settings_of_second.signer_path.exists()


def test_input_that_cannot_be_verified_is_not_kept(
    saved: Path, settings_of_second: NodeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = counts(SECOND)

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(rebuilding.ScratchNodes, "write", full)
    words = rf"nothing was kept: a file in {settings_of_second.common.directory} cannot be .*disk is full"
    with raises(BackupReason.NOT_VERIFIED, kind=BackupRefused, match=words):
        backups.restore(settings_of_second, SECOND, saved)
    assert counts(SECOND) == before
    assert list(settings_of_second.common.directory.iterdir()) == []


def test_where_something_is_nothing_is_restored(
    saved: Path, settings_of_second: NodeSettings
) -> None:
    before = rows(Database())
    with raises(
        BackupReason.NOT_EMPTY,
        kind=BackupRefused,
        match="the database here is not empty: its table ",
    ):
        backups.restore(this_node().settings, Database(), saved)
    assert rows(Database()) == before

    other = settings_of_second.signer_path
    other.parent.mkdir()
    other.write_bytes(b"of another node")
    with raises(
        BackupReason.OTHER_FILE,
        kind=BackupRefused,
        match="exists already with other content",
    ):
        backups.restore(settings_of_second, SECOND, saved)
    assert other.read_bytes() == b"of another node"
    other.write_bytes(this_node().settings.signer_path.read_bytes())  # after a kill, or mounted
    before_it = other.stat()
    backups.restore(settings_of_second, SECOND, saved)
    assert os.path.samestat(other.stat(), before_it)
    assert rows(SECOND) == before


def test_a_node_of_another_network_is_not_restored(
    saved: Path, settings_of_second: NodeSettings
) -> None:
    elsewhere = updated(settings_of_second, network_id=77)
    with raises(
        BackupReason.OTHER_NETWORK,
        kind=BackupRefused,
        match="is on network 12345, but NODE_NETWORK_ID is 77",
    ):
        backups.restore(elsewhere, SECOND, saved)


def test_a_backup_of_other_tables_or_a_later_format_is_refused(
    changed: Callable[..., Path], settings_of_second: NodeSettings
) -> None:
    def older(manifest: BackupManifest) -> BackupManifest:
        return msgspec.structs.replace(
            manifest, version="0.0.9", migrations=manifest.migrations[1:]
        )

    def other_columns(manifest: BackupManifest) -> BackupManifest:
        own = dict(manifest.tables)
        own["auth_user"] = own["auth_user"]._replace(columns=("id",))
        return msgspec.structs.replace(manifest, tables=own)

    def later(manifest: BackupManifest) -> BackupManifest:
        return msgspec.structs.replace(manifest, version="9.0.0", format=2)

    for reason, words, difference in (
        (
            BackupReason.OTHER_TABLES,
            "the tables of version 0.0.9, .* by the migration admin.0001",
            older,
        ),
        (BackupReason.OTHER_TABLES, "by the table auth_user", other_columns),
        (BackupReason.LATER_FORMAT, "was written by version 9.0.0, in a later format", later),
    ):
        path = changed(of_manifest=difference)
        with raises(reason, kind=BackupRefused, match=words):
            backups.restore(settings_of_second, SECOND, path)
        path.unlink()


def _damaged(saved: Path) -> Iterator[bytes]:
    """Yield the contents of damaged backup files."""
    whole = saved.read_bytes()
    yield b""
    yield b"no backup"
    yield whole[: len(whole) // 2]
    with zipfile.ZipFile(saved) as file:
        place = file.getinfo("rows/cchain_app_transaction").header_offset
    yield whole[: place + 100] + bytes([whole[place + 100] ^ 1]) + whole[place + 101 :]


def test_a_damaged_file_is_refused_and_nothing_is_kept(
    saved: Path, settings_of_second: NodeSettings, tmp_path: Path
) -> None:
    before = counts(SECOND)
    path = tmp_path / "damaged"
    for content in _damaged(saved):
        path.write_bytes(content)
        with raises(
            BackupReason.UNREADABLE,
            kind=BackupRefused,
            match=f"the file {path} cannot be read as a backup",
        ):
            backups.restore(settings_of_second, SECOND, path)
        assert counts(SECOND) == before
    path.unlink()
    with raises(BackupReason.UNREADABLE, kind=BackupRefused, match="No such file"):
        backups.restore(settings_of_second, SECOND, path)


def test_a_part_that_claims_to_be_huge_is_not_read(
    saved: Path, settings_of_second: NodeSettings, tmp_path: Path
) -> None:
    path = tmp_path / "huge"
    with zipfile.ZipFile(saved) as source, zipfile.ZipFile(path, "w") as made:
        for name in source.namelist():
            content = source.read(name)
            huge = b"\xff\xff\xff\xff" + content[4:]
            made.writestr(name, huge if name == "rows/cchain_app_block" else content)
    with raises(
        BackupReason.UNREADABLE,
        kind=BackupRefused,
        match="a part of cchain_app_block has 4294967295 bytes",
    ):
        backups.restore(settings_of_second, SECOND, path)


def test_without_a_chain_there_is_nothing_to_save(scene: Scene, tmp_path: Path) -> None:
    with raises(
        BackupReason.NO_CHAIN, kind=BackupRefused, match="this node has no chain yet: start it once"
    ):
        backups.backup(this_node().settings, SECOND, tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_the_commands_say_what_they_did_and_why_not(saved: Path, tmp_path: Path) -> None:
    out = StringIO()
    call_command("backup", str(tmp_path / "again"), "--without-keys", stdout=out)
    assert f"Saved {tmp_path}/again: C-Chain at 5, P-Chain at 1, " in out.getvalue()
    assert "It contains no keys: neither the node's identity nor the keystore." in out.getvalue()
    with pytest.raises(CommandError, match=r"^The file .*/again exists already"):
        call_command("backup", str(tmp_path / "again"))
    with pytest.raises(CommandError, match=r"^The database here is not empty"):
        call_command("restore", str(saved))


def test_its_migrations_are_those_of_the_tables_in_it(saved: Path) -> None:
    applied = set(MigrationRecorder(connection).applied_migrations())
    with backup_archive.reading(saved) as found:
        assert ("cchain_app", "0001_initial") in applied
        assert {tuple(migration.split(".")) for migration in found.manifest.migrations} <= applied
    with zipfile.ZipFile(saved) as file:
        assert json.loads(file.read("manifest.json"))["version"] == found.manifest.version
