"""Name and version of this product; the location of its code, a checkout or an installed package; and paths that depend on it.

All other code imports name and version from here.
"""

import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

NAME: Final = "Nunatak"
"""Name for people and clients; package, command and directories have it in lower case."""

VERSION: Final = "0.2.0"
"""Version of the package, the client version string and the native engine."""

COMMIT_DIGITS: Final = 12

COMMIT_FILE: Final = Path(__file__).with_name("commit.txt")
"""The commit of which a package or an image was built; a build writes it, a checkout has none."""


BASE_DIR: Final = Path(__file__).resolve().parents[1]
"""The directory that contains the packages: the checkout, or a `site-packages`."""


def is_checkout(base: Path = BASE_DIR) -> bool:
    """Return whether the packages are in a checkout, which has `manage.py` beside them."""
    return (base / "manage.py").is_file()


def commit(base: Path = BASE_DIR) -> str | None:
    """Return the commit of this code, twelve digits; None if neither a build nor git knows it."""
    if COMMIT_FILE.is_file():
        return COMMIT_FILE.read_text().strip()[:COMMIT_DIGITS] or None
    if not (base / ".git").exists():
        return None
    command = ["git", "-C", str(base), "rev-parse", f"--short={COMMIT_DIGITS}", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=5)  # noqa: S603  # no input
    except (OSError, subprocess.SubprocessError):  # there is no git, or it refuses the directory
        return None
    return done.stdout.strip()


def version_line(engine: str) -> str:
    """Return the line that `--version` prints: name, version, commit, engine and Python.

    Args:
        engine: The EVM engine that is installed.
    """
    known = commit()
    where = f"commit {known}" if known else "unknown commit"
    return f"{NAME.lower()} {VERSION} ({where}, {engine}, Python {platform.python_version()})"


def data_home(base: Path = BASE_DIR, environ: Mapping[str, str] = os.environ) -> Path:
    """Return the parent of the data directories unless NODE_DATA_DIR names one.

    Unspecified: a checkout uses its own `data`. Directories of package managers hold no data, so an
    installed package uses the user's folder of the XDG base directory specification, which lets
    programs ignore an XDG_DATA_HOME that is not absolute.
    """
    if is_checkout(base):
        return base / "data"
    named = Path(environ.get("XDG_DATA_HOME", ""))
    parent = named if named.is_absolute() else Path.home() / ".local" / "share"
    return parent / NAME.lower()


def as_typed(command: str, base: Path = BASE_DIR) -> str:
    """Return the text to type in a terminal for one of the node's commands."""
    return (
        f".venv/bin/python manage.py {command}"
        if is_checkout(base)
        else f"{NAME.lower()} {command}"
    )


def as_process(*command: str, base: Path = BASE_DIR) -> list[str]:
    """Return the program and arguments that run one of the node's commands in a separate process."""
    start = [str(base / "manage.py")] if is_checkout(base) else ["-P", "-m", "nodeproject"]
    return [sys.executable, *start, *command]
