"""A backup is restored only into an empty place, and verified, or not at all."""

import os
import sqlite3
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from django.contrib.auth import get_user_model

from cchain_app.selectors import blocks, rebuilding
from chaindb.database import Database
from nodeproject.apps import this_node
from nodeproject.copies import backup_archive, backups, tables
from nodeproject.copies.backup_manifest import BackupManifest, BackupReason, BackupRefused
from nodeproject.settings.node import NodeSettings
from tests.builders.node_settings import updated
from tests.builders.reasons import raises
from tests.integration.nodeproject.backed_up import (
    ALIASES,
    CLIENT,
    SECOND,
    counts,
    rows,
    save,
)

pytestmark = pytest.mark.django_db(transaction=True, databases=ALIASES)


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


def test_altered_backup_is_rolled_back(
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


def test_unverifiable_input_is_rolled_back(
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


def test_restore_into_a_used_place_is_refused(
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


def test_every_row_and_file_is_restored_into_an_empty_database(
    saved: Path, settings_of_second: NodeSettings
) -> None:
    before = rows(Database())
    assert before["platform_app_keystorekey"]
    assert before["network_app_outerblock"]
    assert before["cchain_app_storageslot"]
    assert before["cchain_app_pooltransaction"]
    assert before["health_app_healthchange"]
    of_explorer = {
        name: found for name, found in before.items() if name.startswith("explorer_app_")
    }
    assert [name for name, found in of_explorer.items() if not found] == []

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


def test_new_row_of_a_restored_table_has_a_fresh_key(
    saved: Path, settings_of_second: NodeSettings
) -> None:
    backups.restore(settings_of_second, SECOND, saved)
    users = get_user_model().objects.using("second")
    there = set(users.values_list("pk", flat=True))
    assert users.create(username="bob").pk not in there


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


def test_backup_without_keys_has_no_keys_and_users(
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


def _damaged(saved: Path) -> Iterator[bytes]:
    """Yield the contents of damaged backup files."""
    whole = saved.read_bytes()
    yield b""
    yield b"no backup"
    yield whole[: len(whole) // 2]
    with zipfile.ZipFile(saved) as file:
        place = file.getinfo("rows/cchain_app_transaction").header_offset
    yield whole[: place + 100] + bytes([whole[place + 100] ^ 1]) + whole[place + 101 :]


def test_damaged_file_is_refused_and_rolled_back(
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


def test_part_with_a_huge_declared_size_is_not_read(
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
