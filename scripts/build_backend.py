"""The build backend of the package for pip and uv (PEP 517): maturin, if a Rust toolchain is installed.

Without a toolchain maturin would download one on its own; this backend stops with an error message instead. A wheel also
contains the empty database that new data directories begin with, which the package itself makes.
"""

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

MANIFEST = Path("native/Cargo.toml")
"""Relative to the working directory of a build backend, which is the directory of pyproject.toml."""

COMMIT_FILE = Path("primitives/commit.txt")
"""Likewise; git ignores it."""

Settings = Mapping[str, Any] | None


class NoToolchain(SystemExit):
    """The native engine cannot be built on this machine: the build ends with the message."""


def verify_toolchain() -> None:
    """Verify that cargo is installed and new enough for the crate.

    Raises:
        NoToolchain: cargo is missing or too old.
    """
    found = re.search(r'^rust-version = "(.+)"$', MANIFEST.read_text(), re.MULTILINE)
    assert found is not None, "the crate says what it needs"
    wanted = found[1]
    advice = (
        f"Nunatak's EVM engine is written in Rust: building it from source needs cargo {wanted} or newer. Install "
        "Rust and try again, or install a wheel of Nunatak, which has the engine in it."
    )
    cargo = shutil.which("cargo")
    if cargo is None:
        raise NoToolchain(f"There is no cargo here. {advice}")
    printed = subprocess.run(  # noqa: S603  # no input
        [cargo, "--version"], capture_output=True, text=True, check=False
    ).stdout
    numbers = re.search(r"(\d+)\.(\d+)", printed)
    if numbers is None or tuple(map(int, numbers.groups())) < tuple(map(int, wanted.split("."))):
        raise NoToolchain(f"The cargo here is {printed.strip() or 'unusable'}. {advice}")


@contextmanager
def commit_in_package() -> Iterator[None]:
    """Let the package that is built have the commit of the checkout in it (`primitives.product.commit`).

    A source package has the file already, and its directory no git.
    """
    git = shutil.which("git")
    if COMMIT_FILE.exists() or git is None or not Path(".git").exists():
        yield
        return
    done = subprocess.run(  # noqa: S603  # no input
        [git, "rev-parse", "HEAD"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        yield
        return
    COMMIT_FILE.write_text(done.stdout)
    try:
        yield
    finally:
        COMMIT_FILE.unlink()


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    """Return the further requirements of a build: those of the package, which runs its migrations. Raises NoToolchain."""
    verify_toolchain()
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    return list(project["dependencies"])


def get_requires_for_build_sdist(config_settings: Settings = None) -> list[str]:
    """Return the further requirements of a source package: none. Raises NoToolchain, as cargo lists the sources."""
    verify_toolchain()
    return []


def prepare_metadata_for_build_wheel(
    metadata_directory: str, config_settings: Settings = None
) -> str:
    """Write the wheel's metadata without building the wheel. Raises NoToolchain."""
    import maturin

    verify_toolchain()
    return str(maturin.prepare_metadata_for_build_wheel(metadata_directory, config_settings))


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Build the wheel. Raises NoToolchain."""
    import maturin

    verify_toolchain()
    subprocess.run([sys.executable, "scripts/build_empty_database.py"], check=True)  # our own
    with commit_in_package():
        return str(maturin.build_wheel(wheel_directory, config_settings, metadata_directory))


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """Build the source package. Raises NoToolchain."""
    import maturin

    verify_toolchain()
    with commit_in_package():
        return str(maturin.build_sdist(sdist_directory, config_settings))
