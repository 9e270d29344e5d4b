"""The options with which the node opens its database."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from chaindb.checkpoints import PAGES
from nodeproject.settings.databases import database, replicas, sqlite
from nodeproject.settings.flags import BadSetting
from nodeproject.settings.node import NodeSettings
from tests.builders.node_settings import updated

MOST = 2 * 2**20
"""The most bytes of cache for each connection; some twenty threads have one."""


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
    """Pages written earlier would be written again, and the log's checksums computed again."""
    log = tmp_path / "node.sqlite3-wal"
    connection.execute("CREATE TABLE filled (bytes BLOB)")
    before = log.stat().st_size
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany("INSERT INTO filled VALUES (?)", [(bytes(4_000),)] * 2_000)
    assert log.stat().st_size == before
    connection.execute("COMMIT")
    assert log.stat().st_size > before + 2_000 * 4_000


def test_wal_checkpoint_is_rare_on_commit(connection: sqlite3.Connection) -> None:
    assert told(connection, "wal_autocheckpoint") == 4 * PAGES


def entry_of(url: str) -> dict[str, Any]:
    return database(updated(NodeSettings(), database_url=url))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgres://db/node", {"HOST": "db", "PORT": "", "NAME": "node", "USER": ""}),
        (
            "postgresql://u%40h:p%2F%23%3F@[::1]:5433/a%20b",
            {"HOST": "::1", "PORT": "5433", "NAME": "a b", "USER": "u@h", "PASSWORD": "p/#?"},
        ),
        ("postgres://u:a#b?c@db/node", {"PASSWORD": "a#b?c", "HOST": "db"}),
        ("postgres:///node?host=/run/postgresql", {"HOST": "/run/postgresql", "NAME": "node"}),
        ("postgres://%2Frun%2Fpostgresql/node", {"HOST": "/run/postgresql"}),
        (
            "postgres://a:1,b:2/node?target_session_attrs=read-write",
            {"HOST": "a,b", "PORT": "1,2"},
        ),
        (
            "postgres:///?host=db&port=7&user=u&password=p&dbname=n",
            {"HOST": "db", "PORT": "7", "USER": "u", "PASSWORD": "p", "NAME": "n"},
        ),
        ("postgres:///?service=node", {"NAME": "", "HOST": ""}),
    ],
)
def test_a_url_of_postgresql_is_read_as_libpq_does(url: str, expected: dict[str, str]) -> None:
    entry = entry_of(url)

    assert {name: entry[name] for name in expected} == expected


def test_libpqs_parameters_reach_libpq() -> None:
    given = "sslmode=verify-full&sslrootcert=/ca.pem&application_name=a%20node&connect_timeout=7"
    options = entry_of(f"postgres://db/node?{given}&options=-c%20work_mem%3D64MB")["OPTIONS"]

    assert options["sslmode"] == "verify-full"
    assert options["sslrootcert"] == "/ca.pem"
    assert options["application_name"] == "a node"
    assert options["connect_timeout"] == 7
    assert options["options"] == "-c work_mem=64MB"


def test_no_startup_option_is_sent_that_was_not_given() -> None:
    """Connection poolers reject logins with startup options."""
    assert "options" not in entry_of("postgres://db/node")["OPTIONS"]


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        (
            "postgres://u:secret@db/node?pgbouncer=true",
            ': invalid URI query parameter: "pgbouncer";',
        ),
        ("postgres://u:secret@db/node?pool=5&sslmode=require", '"pool";'),
        ("postgres://u:secret@db/node?sslmode", 'URI query parameter: "sslmode";'),
        ("postgres://u:secret@db/node?client_encoding=latin1", ": client_encoding must be UTF8;"),
        ("postgres://u:secret@db/node?replication=database", "replication is not supported;"),
        ("postgres://u:secret@db/node?connect_timeout=soon", ": connect_timeout must be a whole"),
        ("postgres://u:secret@db:port/node", ": a port must be a number from 1 to 65535;"),
        ("postgres://u:secret@db:70000/node", ": a port must be a number from 1 to 65535;"),
        ("postgres://u:secret@db", ": the name of the database is missing;"),
        ("postgres://u:pass@secret@db/node", "user's name or password is written as %40;"),
        ("postgres://u:se%zzcret@db/node", "NODE_DATABASE_URL cannot be read; "),
        ("postgres://u:pw/x?secret@db/node", "NODE_DATABASE_URL cannot be read; "),
        ("postgres://u:secret@[::1/node", "NODE_DATABASE_URL cannot be read; "),
        ("sqlite:///node.sqlite3?mode=ro", ": SQLite takes no parameters (mode);"),
        ("sqlite:///", ": the path is missing;"),
    ],
)
def test_parameters_without_effect_are_refused_by_name(url: str, reason: str) -> None:
    with pytest.raises(BadSetting) as refused:
        entry_of(url)

    assert reason in str(refused.value)
    assert "secret" not in str(refused.value)
    assert "se%zz" not in str(refused.value)


def test_a_sqlite_path_is_taken_as_it_is(tmp_path: Path) -> None:
    directory = tmp_path / "50% of a+b?"
    entry = database(updated(NodeSettings(), data_dir=str(directory)))

    assert entry["NAME"] == str(directory / "node.sqlite3")
    assert entry_of("sqlite:////srv/a%20b+c.sqlite3")["NAME"] == "/srv/a b+c.sqlite3"
    assert entry_of("sqlite:///here.sqlite3")["NAME"] == "here.sqlite3"


def test_replicas_have_aliases_and_a_server_of_their_own() -> None:
    urls = ("postgres://node:secret@db2/node", "postgres://node:secret@db3:5433/node")
    entries = replicas(updated(NodeSettings(), database_replica_urls=urls))

    assert [(alias, entry["HOST"], entry["SERVER"]) for alias, entry in entries.items()] == [
        ("replica_1", "db2", "replica_1"),
        ("replica_2", "db3", "replica_2"),
    ]
    assert replicas(NodeSettings()) == {}


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("sqlite:///secret", ""),
        ("postgres://node:secret@db2/", ": the name of the database is missing"),
        ("postgres://node:secret@db2:x/node", ": a port must be a number from 1 to 65535"),
    ],
)
def test_bad_urls_of_replicas_are_refused_without_their_password(url: str, reason: str) -> None:
    with pytest.raises(BadSetting) as error:
        replicas(updated(NodeSettings(), database_replica_urls=(url,)))
    assert str(error.value) == (
        f"NODE_DATABASE_REPLICA_URLS cannot be read{reason}; it must be postgres://USER:PASSWORD@HOST:PORT/NAME"
    )
