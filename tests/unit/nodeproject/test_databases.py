"""How the node opens its database."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from chaindb.checkpoints import PAGES
from nodeproject.settings.databases import sqlite
from nodeproject.settings.node import NodeSettings

MOST = 2 * 2**20
"""Bytes that each of some twenty threads' connections may keep."""


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    entry = sqlite(tmp_path / "node.sqlite3", NodeSettings())
    with closing(sqlite3.connect(tmp_path / "node.sqlite3", isolation_level=None)) as opened:
        opened.executescript(entry["OPTIONS"]["init_command"])
        yield opened


def told(connection: sqlite3.Connection, name: str) -> int:
    value: int = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return value


def test_a_connection_keeps_few_pages(connection: sqlite3.Connection) -> None:
    assert 0 < told(connection, "cache_size") * told(connection, "page_size") <= MOST
    assert told(connection, "mmap_size") > MOST, "pages of the file would be read each time"


def test_a_transaction_of_a_full_block_is_written_at_its_end(
    connection: sqlite3.Connection, tmp_path: Path
) -> None:
    """Pages that are written before are written again, and what is in the log by then is summed up anew."""
    log = tmp_path / "node.sqlite3-wal"
    connection.execute("CREATE TABLE filled (bytes BLOB)")
    before = log.stat().st_size
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany("INSERT INTO filled VALUES (?)", [(bytes(4_000),)] * 2_000)
    assert log.stat().st_size == before
    connection.execute("COMMIT")
    assert log.stat().st_size > before + 2_000 * 4_000


def test_who_commits_leaves_the_log_to_the_node_for_long(connection: sqlite3.Connection) -> None:
    assert told(connection, "wal_autocheckpoint") == 4 * PAGES
