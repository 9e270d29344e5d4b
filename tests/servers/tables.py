"""Databases with empty tables, for the nodes of tests.

Each node creates the same tables at its first start, which takes a second and a half, and twice that on
PostgreSQL. Tests of the commands (`make run`, `make network`) do without prepared tables and cover that.
"""

import os
import sqlite3
import sys
import tempfile
from contextlib import closing
from functools import cache
from pathlib import Path

from tests.servers.postgresql import PostgresqlServer
from tests.servers.process import PATIENCE, ServerProcess

ROOT = Path(__file__).resolve().parents[2]
NAME = "node.sqlite3"


def give_tables(home: Path) -> None:
    """Copy the database into the data directory of a node of the embedded profile that has none."""
    if (home / NAME).exists():
        return
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (
        closing(sqlite3.connect(_migrated() / NAME)) as made,
        closing(sqlite3.connect(home / NAME)) as given,
    ):
        made.backup(given)


def database_with_tables(server: PostgresqlServer, name: str) -> str:
    """Create a database on a server and return its URL."""
    return server.create_database(name, template=_template(server))


@cache
def _template(server: PostgresqlServer) -> str:
    """Return the name of a database that Django has migrated, once on this server."""
    url = server.create_database("tables")
    with tempfile.TemporaryDirectory(prefix="tables-") as directory:
        _migrate(Path(directory), NODE_PROFILE="production", NODE_DATABASE_URL=url)
    return "tables"


@cache
def _migrated() -> Path:
    """Return a data directory whose database Django has migrated, once in this process."""
    directory = Path(_directory().name)
    _migrate(directory)
    return directory


def _migrate(directory: Path, **settings: str) -> None:
    inherited = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith("NODE_") and key != "DJANGO_SETTINGS_MODULE"
    }
    process = ServerProcess(
        [sys.executable, "manage.py", "migrate", "--verbosity", "0", "--skip-checks"],
        directory / "migrate.log",
        env={**inherited, **settings, "NODE_DATA_DIR": str(directory)},
        cwd=ROOT,
        is_warm=True,
    )
    process.finish(PATIENCE)


@cache
def _directory() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="tables-")
