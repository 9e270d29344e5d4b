"""The project's own files, without the packages that npm and cargo install among them."""

import os
from collections.abc import Iterator
from pathlib import Path

OTHERS = {"node_modules", "__pycache__", "target"}


def files_below(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder and its subfolders, sorted by name."""
    for directory, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - OTHERS)
        yield from (Path(directory, name) for name in sorted(names))
