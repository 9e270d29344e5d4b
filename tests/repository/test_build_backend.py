"""A source build without a Rust toolchain fails with a clear message and downloads nothing."""

import stat
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts import build_backend
from scripts.build_backend import NoToolchain

ROOT = Path(__file__).parents[2]
HOOKS = [
    build_backend.get_requires_for_build_wheel,
    build_backend.get_requires_for_build_sdist,
    lambda: build_backend.prepare_metadata_for_build_wheel("nowhere"),
    lambda: build_backend.build_wheel("nowhere"),
    lambda: build_backend.build_sdist("nowhere"),
]


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only directory on the PATH, which is still empty."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def put_cargo(programs: Path, said: str) -> None:
    cargo = programs / "cargo"
    cargo.write_text(f"#!/bin/sh\necho '{said}'\n")
    cargo.chmod(stat.S_IRWXU)


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.usefixtures("programs")
def test_build_without_cargo_is_refused_with_a_message(hook: Callable[[], object]) -> None:
    with pytest.raises(
        NoToolchain,
        match=r"^There is no cargo here\. Nunatak's EVM engine is written in Rust: building it from source needs "
        r"cargo 1\.95 or newer\. Install Rust and try again, or install a wheel of Nunatak",
    ):
        hook()


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            "cargo 1.94.9 (abc 2026-01-01)",
            r"^The cargo here is cargo 1\.94\.9 \(abc 2026-01-01\)\. ",
        ),
        ("cargo 0.99.0", r"^The cargo here is cargo 0\.99\.0\. "),
        ("", r"^The cargo here is unusable\. "),
    ],
)
def test_unusable_cargo_is_reported(programs: Path, said: str, words: str) -> None:
    put_cargo(programs, said)

    with pytest.raises(NoToolchain, match=words):
        build_backend.get_requires_for_build_wheel()


@pytest.mark.parametrize("said", ["cargo 1.95.0 (abc 2026-04-01)", "cargo 1.103.1", "cargo 2.0.0"])
def test_build_needs_only_a_newer_cargo(programs: Path, said: str) -> None:
    put_cargo(programs, said)

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert build_backend.get_requires_for_build_wheel() == project["dependencies"]
    assert build_backend.get_requires_for_build_sdist() == []


def test_package_contains_the_commit_during_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "primitives").mkdir()
    file = tmp_path / build_backend.COMMIT_FILE
    with build_backend.commit_in_package():
        assert not file.exists()  # there is no git

    for command in (
        ("init", "--quiet"),
        (
            "-c",
            "user.name=A",
            "-c",
            "user.email=a@b.c",
            "commit",
            "--quiet",
            "--allow-empty",
            "-m",
            "x",
        ),
    ):
        subprocess.run(["git", *command], check=True)
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    ).stdout
    with build_backend.commit_in_package():
        assert file.read_text() == head
    assert not file.exists()

    file.write_text("of the source package\n")
    with build_backend.commit_in_package():
        assert file.read_text() == "of the source package\n"
    assert file.exists()
