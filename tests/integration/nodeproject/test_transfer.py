"""Refused moves of a node to PostgreSQL; successful ones are tested with real nodes (tests/e2e/test_backups.py)."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from chaindb.database import Database
from nodeproject.apps import this_node
from nodeproject.copies import backups, tables, transfer
from nodeproject.copies.backup_manifest import BackupReason, BackupRefused
from nodeproject.settings.node import NodeSettings
from nodeproject.startup.database import opened_file
from nodeproject.startup.process import CannotStart, StartReason, claim_directory
from tests.builders.node_settings import updated
from tests.builders.reasons import raises
from tests.integration.nodeproject.snapshots import Scene

SECOND = Database("second")

OTHER = "of another node"
"""Django's alias of the SQLite database."""

pytestmark = pytest.mark.django_db(transaction=True, databases=("default", "second"))


@pytest.fixture
def elsewhere(tmp_path: Path) -> NodeSettings:
    """The settings of a node whose data directory is empty."""
    return updated(this_node().settings, data_dir=str(tmp_path))


def test_transfer_needs_an_existing_file_and_postgresql(elsewhere: NodeSettings) -> None:
    if connection.vendor == "sqlite":
        with raises(
            BackupReason.NEEDS_POSTGRESQL,
            kind=BackupRefused,
            match="set it, and NODE_PROFILE=production",
        ):
            transfer.transfer(elsewhere, SECOND)
        return
    with raises(
        BackupReason.NO_SOURCE,
        kind=BackupRefused,
        match=r"there is no .*/node\.sqlite3: NODE_DATA_DIR must name the node to move",
    ):
        transfer.transfer(elsewhere, SECOND)


@pytest.fixture
def sqlite(scene: Scene, elsewhere: NodeSettings, tmp_path: Path) -> NodeSettings:
    """A data directory with an SQLite database that contains everything of this process's node."""
    scene.change_everything("alice")
    node = this_node()
    saved = tmp_path / "node.backup"
    backups.backup(node.settings, node.platform_chain.db, saved)
    with opened_file(tmp_path / "node.sqlite3", OTHER, elsewhere) as made:
        call_command("migrate", database=made.alias, verbosity=0, interactive=False)
        backups.restore(elsewhere, made, saved)
    return elsewhere


@contextmanager
def another_version(of: NodeSettings) -> Iterator[None]:
    """Make an SQLite database appear to be made by an earlier version of the program."""
    last = ("cchain_app", "0013_chain_id_by_hand")
    with opened_file(of.common.directory / "node.sqlite3", OTHER, of) as source:
        MigrationRecorder(source.connection).record_unapplied(*last)
    yield
    with opened_file(of.common.directory / "node.sqlite3", OTHER, of) as source:
        MigrationRecorder(source.connection).record_applied(*last)


@pytest.mark.skipif(
    "connection.vendor != 'postgresql'",
    reason="it moves to PostgreSQL: `make test` runs it on that database",
)
def test_rows_are_moved_and_verified_in_batches_or_not_at_all(sqlite: NodeSettings) -> None:
    empty = tables.EVERYTHING.counts(SECOND)

    def untouched() -> bool:
        return tables.EVERYTHING.counts(SECOND) == empty

    with (
        claim_directory(sqlite.common.directory),
        raises(StartReason.DIRECTORY_IN_USE, kind=CannotStart, match="another node runs on"),
    ):
        transfer.transfer(sqlite, SECOND)
    with raises(
        BackupReason.OTHER_NETWORK,
        kind=BackupRefused,
        match="is on network 12345, but NODE_NETWORK_ID is 77",
    ):
        transfer.transfer(updated(sqlite, network_id=77), SECOND)
    with raises(BackupReason.NOT_EMPTY, kind=BackupRefused, match="the database here is not empty"):
        transfer.transfer(sqlite, Database())
    words = r"by the migration cchain_app\.0013_chain_id_by_hand"
    with (
        another_version(sqlite),
        raises(BackupReason.NOT_UPGRADED, kind=BackupRefused, match=words),
    ):
        transfer.transfer(sqlite, SECOND)
    assert untouched()

    standing = transfer.transfer(sqlite, SECOND)

    for table in tables.EVERYTHING.tables():
        assert list(table.read(SECOND)) == list(table.read(Database())), table.name
    assert standing.state_root is not None
    with raises(BackupReason.NOT_EMPTY, kind=BackupRefused):
        transfer.transfer(sqlite, SECOND)
