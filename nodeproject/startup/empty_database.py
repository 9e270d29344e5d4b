"""An empty database with all tables, which a build makes and a new data directory on SQLite begins with.

The migrations of a first start take twice as long as everything else. The file's name has a hash of the migrations, so a
start never finds a file that was built from others: it runs the migrations itself then.
"""

import hashlib
import os
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import django
from django.apps import apps

from primitives.whole_files import whole_file

DIRECTORY: Final = Path(__file__).parent
"""Where builds put the file and starts look for it."""

_PATTERN: Final = "empty-{}.sqlite3"
_BESIDE: Final = ("", "-wal", "-journal")
"""Endings of SQLite's files of a database. One that was left alone still has rows."""


def migration_files() -> Iterator[tuple[str, Path]]:
    """Yield the migrations of all apps, as Django finds them: the app's label and the file, sorted."""
    for config in sorted(apps.get_app_configs(), key=lambda item: item.label):
        for path in sorted(Path(config.path).glob("migrations/[!_~]*.py")):
            yield config.label, path


def prepared_file(directory: Path = DIRECTORY) -> Path:
    """Return the path of the file that belongs to the migrations of this program, whether it exists or not."""
    # Rows that Django adds after the migrations, such as permissions, may change with its version.
    digest = hashlib.sha256(django.get_version().encode())
    for label, path in migration_files():
        content = path.read_bytes()
        digest.update(f"\n{label}.{path.stem} {len(content)}\n".encode())
        digest.update(content)
    return directory / _PATTERN.format(digest.hexdigest()[:16])


def prepare(migrated: Path, directory: Path = DIRECTORY) -> Path:
    """Make the file from a database in which only the migrations have run; remove the files of other migrations.

    Returns:
        Its path.
    """
    target = prepared_file(directory)
    part = target.with_suffix(f".{os.getpid()}")
    connection = sqlite3.connect(migrated)
    try:
        connection.execute("VACUUM INTO ?", [str(part)])
        part.chmod(0o644)  # the program's files are for all users, unlike a node's
        part.replace(target)
    finally:
        connection.close()
        part.unlink(missing_ok=True)
    for path in directory.glob(_PATTERN.format("*")):
        if path != target:
            path.unlink()
    return target


def begin_with_tables(database: Path, directory: Path = DIRECTORY) -> bool:
    """Create a database as a copy of the file; do nothing if there is a database already, or no such file.

    If another process creates the database at the same time, only one of the two does.

    Returns:
        Whether the database was created here.

    Raises:
        OSError: The file cannot be read or copied.
    """
    if any(Path(f"{database}{ending}").exists() for ending in _BESIDE):
        return False
    try:
        content = prepared_file(directory).read_bytes()
    except FileNotFoundError:
        return False
    with suppress(FileExistsError, BlockingIOError), whole_file(database, replace=False) as file:
        file.write(content)
        return True
    return False
