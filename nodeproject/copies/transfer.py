"""Moves a stopped node from the SQLite database of its data directory into an empty PostgreSQL database."""

from pathlib import Path
from typing import Final

from chaindb.database import Database
from nodeproject.copies import tables
from nodeproject.copies.backup_manifest import (
    BackupReason,
    BackupRefused,
    ChainsState,
    chains_state_of,
)
from nodeproject.copies.backups import Told, fill, verify
from nodeproject.settings.node import NodeSettings
from nodeproject.startup.database import make_tables, opened_file
from nodeproject.startup.process import claim_directory

_SOURCE: Final = "transferred"
"""Django's alias of the SQLite database during the transfer."""


def transfer(settings: NodeSettings, target: Database, *, on_step: Told = str) -> ChainsState:
    """Copy all rows part by part, in one transaction of the target, and verify that they are the same there.

    The SQLite database is not changed. The verification compares the rows of every table, both heads, and the state
    root, which is computed again from the accounts and slots in PostgreSQL.

    Args:
        settings: The node's settings, with the data directory of the node to be moved.
        target: The PostgreSQL database.
        on_step: Called for each table.

    Raises:
        BackupRefused: The target is still without rows.
        CannotStart: The node runs.
        DatabaseError: One of both databases cannot be read or written.
    """
    if target.connection.vendor != "postgresql":
        raise BackupRefused(BackupReason.NEEDS_POSTGRESQL)
    path = settings.common.directory / "node.sqlite3"
    if not path.is_file():
        raise BackupRefused(BackupReason.NO_SOURCE, path=path)
    with claim_directory(settings.common.directory), opened_file(path, _SOURCE, settings) as source:
        make_tables()
        with source.consistent_read():
            standing = chains_state_of(source)
            _verify_fits(source, target, path, standing, settings)
            counts = tables.EVERYTHING.counts(source)
            with target.atomic(durable=True):
                fill(target, lambda table: table.read(source), tuple(counts), on_step)
                on_step("Verifying")
                verify(target, standing, counts, settings)
    return standing


def _verify_fits(
    source: Database, target: Database, path: Path, standing: ChainsState, settings: NodeSettings
) -> None:
    migrations = tables.EVERYTHING.migrations
    differing = tables.first_difference(migrations(source), migrations(target))
    if differing is not None:
        raise BackupRefused(BackupReason.NOT_UPGRADED, path=path, migration=differing)
    if standing.network_id != settings.common.network_id:
        raise BackupRefused(
            BackupReason.OTHER_NETWORK,
            where=path,
            saved=standing.network_id,
            here=settings.common.network_id,
        )
