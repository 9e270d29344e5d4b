"""An unusable database is reported in one line with the remedy, and the command fails."""

import fcntl
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from django.db import OperationalError
from django.db.utils import load_backend

from nodeproject.settings.databases import database
from nodeproject.settings.node import NodeSettings
from nodeproject.startup.database import explained
from primitives.product import VERSION
from tests.builders.node_settings import updated
from tests.servers.node import ROOT
from tests.servers.ports import free_port
from tests.servers.postgresql import PASSWORD, PostgresqlServer
from tests.servers.tables import give_tables

pytestmark = pytest.mark.sqlite_only

SECONDS = 120.0
Said = Callable[..., str]

SETTINGS = {"TIME_ZONE": None, "CONN_HEALTH_CHECKS": False}
"""Keys that Django adds to an entry of DATABASES."""

BAD_URL = (
    "NODE_DATABASE_URL cannot be read; it must be postgres://USER:PASSWORD@HOST:PORT/NAME or "
    "sqlite:///PATH\n"
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def said(data: Path) -> Said:
    """Return a function that runs a command, which must fail with one line of output, and returns that line."""

    def run(command: str, *before: str, **env: str) -> str:
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("NODE_") and name != "DJANGO_SETTINGS_MODULE"
        }
        ports = {"NODE_HTTP_PORT": str(free_port()), "NODE_STAKING_PORT": str(free_port())}
        done = subprocess.run(
            [*before, sys.executable, "manage.py", command],
            cwd=ROOT,
            env=inherited | {"NODE_DATA_DIR": str(data)} | ports | env,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        assert done.returncode == 1
        told = done.stderr.lstrip("\n")  # the progress bar leaves an empty line
        assert told.count("\n") == 1, told
        return told

    return run


def database_file(data: Path) -> Path:
    """Create a database with all tables in a data directory, and return its file."""
    data.mkdir()
    give_tables(data)
    return data / "node.sqlite3"


@pytest.mark.parametrize(
    "url", ["nonsense", "mysql://a/b", "postgres://u:se%zzcret@h/x", "sqlite:relative"]
)
def test_malformed_url_is_reported(said: Said, url: str) -> None:
    assert said("init_node", NODE_DATABASE_URL=url) == BAD_URL


@pytest.mark.parametrize(
    ("env", "is_it"),
    [({}, "missing"), ({"NODE_DATABASE_URL": "sqlite:////tmp/x"}, "of another database")],
)
def test_production_without_postgresql(said: Said, env: dict[str, str], is_it: str) -> None:
    assert said("init_node", NODE_PROFILE="production", **env) == (
        f"NODE_DATABASE_URL is {is_it}; the production profile needs "
        "postgres://USER:PASSWORD@HOST:PORT/NAME\n"
    )


def test_unreachable_server_is_reported(said: Said) -> None:
    port = free_port()
    url = f"postgres://u:secret@127.0.0.1:{port}/chain"

    told = said("init_node", NODE_DATABASE_URL=url)

    assert told.startswith(f"CommandError: the database chain at 127.0.0.1:{port} cannot be used (")
    assert "Connection refused" in told
    assert told.endswith("): check that the server runs, or correct NODE_DATABASE_URL\n")
    assert "secret" not in told


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresqlServer]:
    """A server with TLS, whose certificate is signed by its own authority."""
    started = PostgresqlServer(tls=True)
    yield started
    started.stop()


def test_missing_database_is_reported(said: Said, server: PostgresqlServer) -> None:
    output = said("init_node", NODE_DATABASE_URL=server.url("absent"))

    assert "the database absent at " in output
    assert 'database "absent" does not exist' in output


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("sslmode=verify-full&sslrootcert=/absent.pem", 'root certificate file "/absent.pem" does'),
        ("sslmode=verify-full&sslrootcert=system", "SSL error: certificate verify failed"),
        ("sslmode=bogus", 'invalid sslmode value: "bogus"'),
        ("host=/absent", '"/absent/.s.PGSQL.'),
        ("options=-c%20nonsense%3D1", 'unrecognized configuration parameter "nonsense"'),
    ],
)
def test_parameters_of_the_url_are_honoured_and_failures_quoted(
    said: Said, server: PostgresqlServer, query: str, message: str
) -> None:
    output = said("init_node", NODE_DATABASE_URL=f"{server.url('postgres')}?{query}")

    assert output.startswith("CommandError: the database postgres at ")
    assert message in output
    assert PASSWORD not in output


def test_tls_required_by_the_url_is_used(server: PostgresqlServer) -> None:
    assert server.certificate is not None
    root = server.certificate.certificate
    query = f"sslmode=verify-full&sslrootcert={root}"
    entry = database(updated(NodeSettings(), database_url=f"{server.url('postgres')}?{query}"))
    wrapper = load_backend(entry["ENGINE"]).DatabaseWrapper({**SETTINGS, **entry})

    with psycopg.connect(**wrapper.get_connection_params()) as session:
        assert session.pgconn.ssl_in_use


def test_a_database_in_another_encoding(said: Said, server: PostgresqlServer) -> None:
    url = server.create_database("latin", "template0", "LATIN1")

    output = said("init_node", NODE_DATABASE_URL=url)

    assert output == (
        f"CommandError: the database latin at 127.0.0.1:{server.port} has the encoding LATIN1, in which "
        "not every name can be stored: make one with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE "
        "template0\n"
    )
    with psycopg.connect(url) as session:
        assert session.execute("SELECT count(*) FROM pg_stat_user_tables").fetchone() == (0,)


@pytest.mark.parametrize("command", ["init_node", "runnode"])
def test_file_that_is_no_database_is_reported(said: Said, data: Path, command: str) -> None:
    path = database_file(data)
    path.write_bytes(os.urandom(8192))

    assert said(command) == (
        f"CommandError: the database {path} is damaged, or not a database (file is not a database): "
        "restore a backup, or move it away to start with a new one\n"
    )


def test_a_database_with_damaged_pages(said: Said, data: Path) -> None:
    path = database_file(data)
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + os.urandom(len(whole) - 4096))

    assert said("init_node") == (
        f"CommandError: the database {path} is damaged (database disk image is malformed): "
        "restore a backup, or move it away to start with a new one\n"
    )


def test_database_of_a_later_version_is_not_changed(said: Said, data: Path) -> None:
    path = database_file(data)
    with closing(sqlite3.connect(path)) as rows, rows:
        for name in ("0998_future", "0999_future"):
            rows.execute(
                "INSERT INTO django_migrations (app, name, applied) VALUES (?, ?, ?)",
                ("cchain_app", name, "2030-01-01"),
            )

    assert said("runnode") == (
        f"CommandError: the database was written by a later version, and this is version {VERSION} "
        "(without migration cchain_app.0998_future and 1 more): run a later version, or name another "
        "NODE_DATA_DIR or NODE_DATABASE_URL\n"
    )


def test_a_database_of_a_later_version_is_refused_with_both_versions(
    said: Said, data: Path
) -> None:
    path = database_file(data)
    with closing(sqlite3.connect(path)) as rows, rows:
        rows.execute(
            "INSERT INTO chaindb_programversion (version, first_run_at) VALUES (?, ?), (?, ?)",
            ("99.10.1", "2030-01-01", "99.9.0", "2029-01-01"),
        )

    assert said("init_node") == (
        f"CommandError: the database was written by version 99.10.1, and this is version {VERSION}: "
        "run version 99.10.1, or name another NODE_DATA_DIR or NODE_DATABASE_URL\n"
    )


def test_locked_data_directory_is_reported(said: Said, data: Path) -> None:
    data.mkdir()
    with (data / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        told = said("runnode")

    assert told == (
        f"CommandError: another node runs on {data}: stop it, or give this one its own "
        "NODE_DATA_DIR\n"
    )


def test_locked_database_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "held.sqlite3"
    with (
        closing(sqlite3.connect(path, isolation_level=None)) as holder,
        closing(sqlite3.connect(path, timeout=0)) as other,
    ):
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(sqlite3.OperationalError) as refused:
            other.execute("CREATE TABLE a (b)")

    told = explained(OperationalError(str(refused.value)))
    assert told.endswith(
        "is in use by another process: stop that process, or give this node its own NODE_DATA_DIR"
    )


def on_disk_of(directory: Path, size: str, then: str = "true") -> list[str]:
    """Return a command line that runs a command with its directory on a separate disk, in a private mount."""
    tool = shutil.which("unshare")
    alone = [tool or "unshare", "--map-root-user", "--mount", "sh", "-c"]
    mount = f'mount -t tmpfs -o size={size} tmpfs "$0" && {then}'
    try:
        subprocess.run([*alone, mount, str(directory)], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no disk can be mounted here: {error}")
    return [*alone, f'{mount} && exec "$@"', str(directory)]


def test_a_full_disk(said: Said, data: Path) -> None:
    data.mkdir()

    told = said("init_node", *on_disk_of(data, "300k"))

    assert told == (
        f"CommandError: the database {data}/node.sqlite3 cannot grow: its disk is full. Free space "
        "and start again\n"
    )


def test_full_disk_is_reported(said: Said, data: Path) -> None:
    data.mkdir()
    fill = 'head -c 100k /dev/zero > "$0/filler" 2>/dev/null; true'

    told = said("init_node", *on_disk_of(data, "64k", fill))

    assert told.startswith("NODE_DATA_DIR or NODE_SECRET_KEY_FILE cannot be used: ")
    assert told.endswith("No space left on device\n")
