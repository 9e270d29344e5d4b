"""The file of a backup: a finished one is never written to again, whoever was killed or comes in between."""

import os
import zipfile
from pathlib import Path

import pytest

from nodeproject.backups import archive
from nodeproject.backups.errors import FileExists, FileInUse
from primitives import whole_files


def save(path: Path, content: bytes) -> None:
    """Write a file of a backup."""
    with archive.writing(path) as made:
        made.add_file("a", content)


def saved(path: Path) -> bytes:
    """Return what is in one."""
    with zipfile.ZipFile(path) as found:
        return found.read("files/a")


def first_name(path: Path) -> Path:
    """Return the name of a file that is being written."""
    return path.with_name(f".{path.name}.partial")


def test_it_overwrites_nothing_and_one_writes_at_a_time(tmp_path: Path) -> None:
    path, free = tmp_path / "a", tmp_path / "b"
    path.write_bytes(b"something else")
    with pytest.raises(FileExists, match=r"there is a file .*/a already"):
        save(path, b"new")
    assert path.read_bytes() == b"something else"
    with archive.writing(free) as made:
        with pytest.raises(FileInUse, match="another process writes"):
            save(free, b"another one")
        made.add_file("a", b"first")
    assert saved(free) == b"first"


def test_what_a_kill_has_left_is_written_over(tmp_path: Path) -> None:
    path = tmp_path / "a"
    first_name(path).write_bytes(b"half of a backup")
    save(path, b"new")
    assert saved(path) == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_finished_backup_that_still_has_its_first_name_is_left_alone(tmp_path: Path) -> None:
    path, kept = tmp_path / "a", tmp_path / "kept"
    save(path, b"old")
    os.link(path, first_name(path))  # killed when it was whole
    path.rename(kept)
    save(path, b"new")
    assert (saved(kept), saved(path)) == (b"old", b"new")
    assert sorted(tmp_path.iterdir()) == [path, kept]
    assert path.stat().st_nlink == kept.stat().st_nlink == 1


def test_a_backup_that_is_finished_while_another_one_begins_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = tmp_path / "a", tmp_path / "b"
    save(path, b"old")
    os.link(path, first_name(other))  # somebody writes it, and is about to give it another name
    opened: list[bool] = []

    def wait(*_: object) -> None:
        if not opened:
            first_name(other).unlink()
        opened.append(first_name(other).exists())

    monkeypatch.setattr(whole_files.fcntl, "flock", wait)
    save(other, b"new")
    assert (saved(path), saved(other)) == (b"old", b"new")
    assert opened == [False, True]
