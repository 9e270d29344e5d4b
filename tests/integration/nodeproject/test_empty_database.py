"""The empty database that builds make: it equals what the migrations make, is never outdated, and starts nodes."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from nodeproject.startup import empty_database
from nodeproject.startup.empty_database import begin_with_tables, prepare, prepared_file
from primitives.product import BASE_DIR
from primitives.whole_files import whole_file

pytestmark = pytest.mark.sqlite_only

FILLED_BY_MIGRATIONS = {"auth_permission", "django_content_type", "django_migrations"}

START = """
import sys
from functools import partial
from pathlib import Path
sys.modules["nodeproject.startup.migrating"] = None  # running a migration fails
import django
from nodeproject.startup.profile import choose_settings
choose_settings()
django.setup()
from nodeproject.startup import database
from nodeproject.startup.empty_database import begin_with_tables
database.begin_with_tables = partial(begin_with_tables, directory=Path(sys.argv[1]))
from nodeproject.cli import main
main(["init_node"])
import json
from django.contrib.auth import authenticate, get_user_model
from nodeproject.apps import this_node
password = this_node().settings.password_path.read_text().strip()
hashed = lambda: get_user_model().objects.get().password.split("$")[1]
print(json.dumps([hashed(), authenticate(username="admin", password="wrong") is None, hashed(),
    authenticate(username="admin", password=password).is_superuser, hashed(), len(this_node().evm_chain.keyring.addresses)]))
"""


def environment(directory: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NODE_")}
    kept.pop("DJANGO_SETTINGS_MODULE", None)
    return {**kept, "NODE_DATA_DIR": str(directory)}


def python(*arguments: str, env: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        env=env, cwd=BASE_DIR, check=False, capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file, as a build makes it although the environment names another node."""
    directory = tmp_path_factory.mktemp("built")
    elsewhere = environment(directory / "none") | {"NODE_NETWORK_ID": "x"}
    printed = python("scripts/build_empty_database.py", str(directory), env=elsewhere)
    (found,) = directory.iterdir()
    assert printed == f"{found}\n"
    return found


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database that the migrations have made in a data directory."""
    directory = tmp_path_factory.mktemp("migrated")
    python("manage.py", "migrate", "--verbosity", "0", env=environment(directory))
    return directory / "node.sqlite3"


def schema(path: Path) -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(
            "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
        ).fetchall()


def rows(path: Path) -> Iterator[tuple[str, list[object]]]:
    """Yield the tables that have rows, with these. The time at which a migration was applied is left out."""
    with closing(sqlite3.connect(path)) as connection:
        for kind, name, *_ in schema(path):
            if kind != "table" or name.startswith("sqlite_"):
                continue
            chosen = "id, app, name" if name == "django_migrations" else "*"
            found = connection.execute(f"SELECT {chosen} FROM {name} ORDER BY 1").fetchall()
            if found:
                yield name, found


def test_empty_database_equals_the_migrated_one(built: Path, migrated: Path) -> None:
    assert len(schema(built)) > 100
    assert schema(built) == schema(migrated)
    assert dict(rows(built)) == dict(rows(migrated))
    assert {name for name, _ in rows(built)} >= FILLED_BY_MIGRATIONS


def test_start_finds_the_empty_database_of_its_migrations(tmp_path: Path, built: Path) -> None:
    script = (
        "import django; django.setup();"
        "from nodeproject.startup.empty_database import prepared_file; print(prepared_file())"
    )
    settings = {"DJANGO_SETTINGS_MODULE": "nodeproject.settings.embedded"}
    found = Path(python("-c", script, env=environment(tmp_path) | settings).strip())
    assert found == empty_database.DIRECTORY / built.name


def test_new_directory_starts_from_the_copy_and_admin_can_log_in(
    tmp_path: Path, built: Path
) -> None:
    printed = python("-c", START, str(built.parent), env=environment(tmp_path / "data"))
    few, refuses, still_few, accepts, many, accounts = json.loads(printed.splitlines()[-1])

    assert (refuses, accepts, accounts) == (True, True, 11)
    assert int(few) == int(still_few) == int(many) // 1000
    applied = "SELECT * FROM django_migrations"
    made = tmp_path / "data" / "node.sqlite3"
    with closing(sqlite3.connect(made)) as ours, closing(sqlite3.connect(built)) as theirs:
        assert ours.execute(applied).fetchall() == theirs.execute(applied).fetchall()
    assert made.stat().st_mode & 0o777 == 0o600


@pytest.fixture
def migration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only migration, which the test may change."""
    path = tmp_path / "0001_initial.py"
    path.write_text("operations = []")
    monkeypatch.setattr(empty_database, "migration_files", lambda: iter([("app", path)]))
    return path


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    made = tmp_path / "prepared"
    made.mkdir()
    return made


def prepared(tmp_path: Path, directory: Path, name: str) -> Path:
    source = tmp_path / "source.sqlite3"
    with closing(sqlite3.connect(source)) as connection:
        connection.execute(f"CREATE TABLE {name} (x)")
    found = prepare(source, directory)
    source.unlink()
    return found


def tables(path: Path) -> list[str]:
    return [name for _, name, *_ in schema(path)]


def test_empty_database_of_other_migrations_is_unused_and_deleted_by_the_next_build(
    tmp_path: Path, directory: Path, migration: Path
) -> None:
    old = prepared(tmp_path, directory, "old")
    assert begin_with_tables(tmp_path / "one.sqlite3", directory)
    assert tables(tmp_path / "one.sqlite3") == ["old"]

    migration.write_text("operations = [1]")
    assert prepared_file(directory) != old
    assert not begin_with_tables(tmp_path / "two.sqlite3", directory)
    assert not (tmp_path / "two.sqlite3").exists()

    new = prepared(tmp_path, directory, "new")
    assert list(directory.iterdir()) == [new]
    assert begin_with_tables(tmp_path / "two.sqlite3", directory)
    assert tables(tmp_path / "two.sqlite3") == ["new"]


@pytest.mark.usefixtures("migration")
@pytest.mark.parametrize("ending", ["", "-wal", "-journal"])
def test_remains_of_a_database_are_kept(tmp_path: Path, directory: Path, ending: str) -> None:
    prepared(tmp_path, directory, "new")
    left = tmp_path / f"node.sqlite3{ending}"
    left.write_bytes(b"rows")

    assert not begin_with_tables(tmp_path / "node.sqlite3", directory)
    assert left.read_bytes() == b"rows"
    assert not any(path.suffix == ".partial" for path in tmp_path.iterdir())


@pytest.mark.usefixtures("migration")
def test_one_of_two_processes_creates_the_database(tmp_path: Path, directory: Path) -> None:
    prepared(tmp_path, directory, "new")
    database = tmp_path / "node.sqlite3"
    with whole_file(database, replace=False) as other:
        assert not begin_with_tables(database, directory)
        other.write(b"the other's")
    assert database.read_bytes() == b"the other's"
    assert not begin_with_tables(database, directory)
