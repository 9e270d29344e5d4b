"""The file of a backup: a finished one is never modified, and a foreign one takes bounded memory."""

import fcntl
import os
import tracemalloc
import zipfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from chaindb.rows import Table
from nodeproject.copies import backup_archive
from nodeproject.copies.backup_manifest import (
    BackupManifest,
    BackupReason,
    BackupRefused,
    ChainsState,
)
from nodeproject.copies.snapshot_manifest import Head
from primitives import whole_files
from tests.builders.modules import module_with
from tests.builders.reasons import raises


def save(path: Path, content: bytes) -> None:
    """Write a backup file."""
    with backup_archive.writing(path) as made:
        made.add_file("a", content)


def saved(path: Path) -> bytes:
    """Return the contents of a backup file."""
    with zipfile.ZipFile(path) as found:
        return found.read("files/a")


def first_name(path: Path) -> Path:
    """Return the name of a file while it is being written."""
    return path.with_name(f".{path.name}.partial")


def test_archive_overwrites_nothing_and_has_one_writer(tmp_path: Path) -> None:
    path, free = tmp_path / "a", tmp_path / "b"
    path.write_bytes(b"something else")
    with raises(
        BackupReason.FILE_EXISTS, kind=BackupRefused, match=r"the file .*/a exists already"
    ):
        save(path, b"new")
    assert path.read_bytes() == b"something else"
    with backup_archive.writing(free) as made:
        with raises(
            BackupReason.FILE_IN_USE, kind=BackupRefused, match="another process is writing"
        ):
            save(free, b"another one")
        made.add_file("a", b"first")
    assert saved(free) == b"first"


def test_leftovers_of_a_killed_process_are_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a"
    first_name(path).write_bytes(b"half of a backup")
    save(path, b"new")
    assert saved(path) == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_finished_backup_with_its_partial_name_is_kept(tmp_path: Path) -> None:
    path, kept = tmp_path / "a", tmp_path / "kept"
    save(path, b"old")
    os.link(path, first_name(path))  # killed after the file was complete
    path.rename(kept)
    save(path, b"new")
    assert (saved(kept), saved(path)) == (b"old", b"new")
    assert sorted(tmp_path.iterdir()) == [path, kept]
    assert path.stat().st_nlink == kept.stat().st_nlink == 1


def test_concurrently_finished_backup_is_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = tmp_path / "a", tmp_path / "b"
    save(path, b"old")
    os.link(path, first_name(other))  # a process is writing it and will rename it soon
    opened: list[bool] = []

    def wait(*_: object) -> None:
        if not opened:
            first_name(other).unlink()
        opened.append(first_name(other).exists())

    monkeypatch.setattr(whole_files, "fcntl", module_with(fcntl, flock=wait))
    save(other, b"new")
    assert (saved(path), saved(other)) == (b"old", b"new")
    assert opened == [False, True]


@dataclass
class Columns:
    """A table's name and the types of its columns."""

    name: str = "a"
    types: tuple[type, ...] = (bytes, int, str, datetime)


ROW = (b"\x01", 2, "3", datetime(2020, 1, 1, tzinfo=UTC))
HEAD = Head(0, "0x", 0, "0x")
MANIFEST = BackupManifest("1", 0, ChainsState(1, 1, HEAD, HEAD, None), True, (), {}, ("a", "b"))


def archived(path: Path, **members: bytes) -> Path:
    """Write a backup file with these members."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name.replace("_", "/"), content)
        file.writestr("manifest.json", msgspec.json.encode(MANIFEST))
    return path


def rows(path: Path) -> list[Any]:
    """Return the rows of the table in a backup file."""
    with backup_archive.reading(path) as source:
        return list(source.rows(cast("Table", Columns())))


def part(content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + content


def test_rows_round_trip(tmp_path: Path) -> None:
    empty = (None,) * 4
    path = tmp_path / "a"
    with backup_archive.writing(path) as made:
        made.add_rows("a", [ROW, empty] * 1500)
        made.finish(MANIFEST)

    assert rows(path) == [ROW, empty] * 1500


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\xdd\xff\xff\xff\xff", "a part of a has 4294967295 rows"),
        (b"\xdd\x00\x10\x00\x00" + b"\x90" * (1 << 20), "a part of a has 1048576 rows"),
        (b"\xdc\xff\xff" + b"\x90" * 0xFFFF, "a part of a has 65535 rows"),
        (b"\x91\xdd\x00\x10\x00\x00" + b"\x90" * (1 << 20), "Expected `array` of length 4"),
        (b"\x91\x94\xdd\x00\x10\x00\x00" + b"\x90" * (1 << 20), "Expected `bytes | null`, got `array`"),
        (b"\x91\x94\xc0\xc0\xc0\xdf\x00\x10\x00\x00" + b"\x90" * (1 << 21), "got `object`"),
        (b"\x90" * 3, "trailing characters"),
    ],
)  # fmt: skip
def test_a_part_with_more_than_rows_of_the_table_is_refused_before_it_is_decoded(
    tmp_path: Path, content: bytes, words: str
) -> None:
    path = archived(tmp_path / "a", rows_a=part(content))

    tracemalloc.start()
    with raises(BackupReason.UNREADABLE, kind=BackupRefused, match=words):
        rows(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 2 * len(content) + 1_000_000


def test_a_manifest_with_a_million_values_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("manifest.json", b'{"tables":{' + b'"a":[],' * 100_001 + b'"a":[]}}')

    with raises(BackupReason.UNREADABLE, kind=BackupRefused):
        rows(path)


def test_a_directory_of_many_parts_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with zipfile.ZipFile(path, "w") as file:
        for number in range(900):
            file.writestr(f"{number:03}" * 400, b"")

    with raises(
        BackupReason.UNREADABLE, kind=BackupRefused, match=r"its directory has [0-9]+ bytes"
    ):
        rows(path)


def test_the_directory_of_a_large_file_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 10)
    path = archived(tmp_path / "a", rows_a=part(msgspec.msgpack.encode([ROW])))
    assert b"PK\x06\x07" in path.read_bytes()
    assert rows(path) == [ROW]

    monkeypatch.setattr(backup_archive, "_MAX_DIRECTORY", 10)
    with raises(
        BackupReason.UNREADABLE, kind=BackupRefused, match=r"its directory has [0-9]+ bytes"
    ):
        rows(path)


def test_files_are_read_only_where_the_node_has_a_place_for_them(tmp_path: Path) -> None:
    path = archived(tmp_path / "a", files_a=b"1", files_b=b"2")

    with backup_archive.reading(path) as source:
        assert source.files({"b"}) == {"b": b"2"}
