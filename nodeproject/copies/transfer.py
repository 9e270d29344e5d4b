"""Moves a stopped node from the SQLite database of its data directory into an empty PostgreSQL database."""

from pathlib import Path
from typing import Final

from cchain_app.store import subnet_chains as chain_rows
from chaindb.database import Database
from nodeproject.copies import chain_copies, tables
from nodeproject.copies.backup_manifest import (
    BackupReason,
    BackupRefused,
    ChainsState,
    chains_state_of,
)
from nodeproject.copies.backups import Told, fill, verify, verify_empty
from nodeproject.settings.node import NodeSettings
from nodeproject.startup.chain_databases import file_of
from nodeproject.startup.database import make_tables, opened_file
from nodeproject.startup.process import claim_directory
from primitives.ids import ID

_SOURCE: Final = "transferred"
"""Django's alias of the SQLite database during the transfer."""
_SOURCE_OF_CHAIN: Final = "transferred_chain"
"""That of the SQLite database of a chain of a subnet."""


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
            verify_empty(target)
            named = [row.blockchain_id for row in chain_rows.rows(source) if row.database]
            with chain_copies.made_anew(named, settings) as made, target.atomic(durable=True):
                fill(target, lambda table: table.read(source), tuple(counts), on_step)
                on_step("Verifying")
                verify(target, standing, counts, settings)
                for blockchain_id, own in made.items():
                    on_step(f"Writing chain {blockchain_id}")
                    _move_chain(blockchain_id, own, settings)
    return standing


def _move_chain(blockchain_id: ID, target: Database, settings: NodeSettings) -> None:
    """Copy the rows of a chain of a subnet from its SQLite file.

    Raises:
        BackupRefused: They are not the same there.
    """
    path = file_of(blockchain_id, settings)
    if not path.is_file():
        raise BackupRefused(BackupReason.NO_SOURCE, path=path)
    with opened_file(path, _SOURCE_OF_CHAIN, settings) as source, source.consistent_read():
        record = chain_copies.record_of(source)
        for table in chain_copies.tables_with_rows(source):
            record.tables[table.name] = table.count(source)
        chain_copies.write(
            target, blockchain_id, record, lambda table: table.read(source), settings
        )


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
