"""Where this code stands, in a checkout of the repository or installed as a package, and what follows from that."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from primitives.product import NAME

BASE_DIR: Final = Path(__file__).resolve().parents[2]
"""What holds the packages: the checkout, or a `site-packages`."""


def is_checkout(base: Path = BASE_DIR) -> bool:
    """Say whether the packages are those of a checkout: it has `manage.py` beside them."""
    return (base / "manage.py").is_file()


def data_home(base: Path = BASE_DIR, environ: Mapping[str, str] = os.environ) -> Path:
    """Return what data directories are in unless NODE_DATA_DIR names one.

    Unspecified: a checkout keeps its own in `data`. What package managers own holds no data, so an
    installed package takes the user's folder of the XDG base directory specification, which lets
    programs pass over an XDG_DATA_HOME that is not absolute.
    """
    if is_checkout(base):
        return base / "data"
    named = Path(environ.get("XDG_DATA_HOME", ""))
    parent = named if named.is_absolute() else Path.home() / ".local" / "share"
    return parent / NAME.lower()


def as_typed(command: str, base: Path = BASE_DIR) -> str:
    """Return what one types in a terminal for one of the node's commands."""
    return (
        f".venv/bin/python manage.py {command}"
        if is_checkout(base)
        else f"{NAME.lower()} {command}"
    )


def as_process(*command: str, base: Path = BASE_DIR) -> list[str]:
    """Return program and arguments that run one of the node's commands in a process of its own."""
    start = [str(base / "manage.py")] if is_checkout(base) else ["-P", "-m", "nodeproject"]
    return [sys.executable, *start, *command]
