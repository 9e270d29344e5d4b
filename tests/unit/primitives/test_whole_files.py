"""A file is complete or absent, and only its owner can open it, whatever other users put into the directory."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from primitives import whole_files
from primitives.whole_files import open_private, whole_file, write_whole
from tests.builders.modules import module_with


def partial(path: Path) -> Path:
    """Return the name of a file while it is being written."""
    return path.with_name(f".{path.name}.partial")


def write(path: Path, content: bytes) -> None:
    with whole_file(path, replace=True) as file:
        file.write(content)


def test_file_replaces_its_predecessor_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_bytes(b"old")
    path.chmod(0o644)

    write_whole(path, b"new")

    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_failed_write_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "key"
    path.write_bytes(b"old")

    def fail(*_: object) -> None:
        raise OSError("No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(whole_files, "os", module_with(os, **{step: fail}))
        with pytest.raises(OSError, match="No space left"):
            write_whole(path, b"new")

    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("writes", [write, write_whole])
@pytest.mark.parametrize("content", [b"precious", None])
def test_a_link_in_the_place_of_the_file_is_replaced_and_its_target_kept(
    tmp_path: Path, writes: Callable[[Path, bytes], None], content: bytes | None
) -> None:
    victim, path = tmp_path / "victim", tmp_path / "a"
    if content is not None:
        victim.write_bytes(content)
    path.symlink_to(victim)

    writes(path, b"new")

    assert not path.is_symlink()
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", 0o600)
    assert (victim.read_bytes() if victim.exists() else None) == content


@pytest.mark.parametrize("content", [b"precious", None])
def test_a_link_in_the_place_of_the_partial_file_is_refused(
    tmp_path: Path, content: bytes | None
) -> None:
    victim, path = tmp_path / "victim", tmp_path / "a"
    if content is not None:
        victim.write_bytes(content)
    partial(path).symlink_to(victim)

    with pytest.raises(PermissionError, match="a link or not your own regular file"):
        write(path, b"new")

    assert (victim.read_bytes() if victim.exists() else None) == content
    assert not path.exists()


def test_a_pipe_in_the_place_of_the_partial_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(partial(tmp_path / "a"))

    with pytest.raises(PermissionError, match="a link or not your own regular file"):
        write(tmp_path / "a", b"new")


def test_partial_file_of_another_user_is_refused_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    partial(path).write_bytes(b"theirs")
    partial(path).chmod(0o666)
    another = partial(path).stat().st_uid + 1
    monkeypatch.setattr(whole_files, "os", module_with(os, geteuid=lambda: another))

    with pytest.raises(PermissionError, match="a link or not your own regular file"):
        write(path, b"new")

    assert partial(path).read_bytes() == b"theirs"
    assert not path.exists()


def test_partial_file_open_elsewhere_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a"
    partial(path).write_bytes(b"half")
    partial(path).chmod(0o666)
    with partial(path).open("rb") as opened_by_others:
        write(path, b"new")

        assert opened_by_others.read() == b"half"
    assert path.stat().st_mode & 0o777 == 0o600


def test_an_own_file_that_has_the_partial_name_too_keeps_its_content(tmp_path: Path) -> None:
    path, other = tmp_path / "a", tmp_path / "other"
    other.write_bytes(b"precious")
    other.chmod(0o600)
    os.link(other, partial(path))

    write(path, b"new")

    assert (path.read_bytes(), other.read_bytes()) == (b"new", b"precious")


def test_a_body_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write(path, b"old")

    def fail() -> None:
        with whole_file(path, replace=True) as file:
            file.write(b"new")
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()

    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_private_file_keeps_its_content_until_it_is_written_to(tmp_path: Path) -> None:
    write(tmp_path / "a", b"old")

    with open_private(tmp_path / "a") as file:
        assert file.read() == b"old"
