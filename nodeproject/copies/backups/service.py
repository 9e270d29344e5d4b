"""Saves a node in one file while it runs, and restores it into an empty node."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from chaindb.database import Database, Row
from chaindb.locks import Lock
from chaindb.rows import Table
from nodeproject.copies import tables
from nodeproject.copies.backups import files
from nodeproject.copies.backups.archive import reading, writing
from nodeproject.copies.backups.errors import BackupReason, BackupRefused
from nodeproject.copies.backups.manifest import (
    BackupManifest,
    TableRecord,
    manifest_of,
    standing_of,
)
from nodeproject.copies.backups.verification import verify
from nodeproject.settings.node import NodeSettings
from nodeproject.startup.tables import make_tables

Told = Callable[[str], object]
"""Called with a description of each step."""

_FILLED_BY_MIGRATIONS: Final = ("auth_permission", "django_content_type")
"""In the order in which their rows can be deleted."""


def backup(
    settings: NodeSettings, db: Database, path: Path, *, keys: bool = True, on_step: Told = str
) -> BackupManifest:
    """Save the node's state at this moment; the node may continue to run, and no writer has to wait.

    Args:
        settings: The node's settings.
        db: The node's database.
        path: The file, which must not exist yet.
        keys: Whether to save the node's keys, encrypted keys of the keystore's users and the admin's users.
        on_step: Called for each table.

    Raises:
        BackupRefused: There is no new file, and an existing one is unchanged.
        DatabaseError: The rows cannot be read.
        OSError: The file cannot be written.
    """
    counted: dict[str, TableRecord] = {}
    with writing(path) as archive, db.as_of_one_moment():
        standing = standing_of(db)
        for table in (tables.EVERYTHING if keys else tables.WITHOUT_PEOPLE).tables():
            on_step(f"Saving {table.name}")
            counted[table.name] = TableRecord(
                table.columns, archive.add_rows(table.name, table.read(db))
            )
        there = {
            name: found
            for name, found in files.paths(settings, keys=keys).items()
            if found.exists()
        }
        for name, found in there.items():
            archive.add_file(name, found.read_bytes())
        manifest = manifest_of(db, standing, counted, tuple(there), keys=keys)
        archive.finish(manifest)
    return manifest


def restore(
    settings: NodeSettings, db: Database, path: Path, *, on_step: Told = str
) -> BackupManifest:
    """Restore a node into an empty data directory and an empty database, and verify that it equals the saved one.

    All rows are written in one transaction, and files only after verification, so an interrupted restore can be
    repeated. The database may be of another kind than the saved one.

    Args:
        settings: The settings of the new node.
        db: The database of the new node.
        path: The backup.
        on_step: Called for each table.

    Raises:
        BackupRefused: The database is still without rows.
        DatabaseError: The rows cannot be written.
        OSError: A file cannot be written.
    """
    with reading(path) as archive:
        manifest = archive.manifest
        places = files.paths(settings, keys=True)
        saved = archive.files(places)
        written = {places[name]: content for name, content in saved.items()}
        if manifest.standing.network_id != settings.common.network_id:
            raise BackupRefused(
                BackupReason.OTHER_NETWORK,
                where=path,
                saved=manifest.standing.network_id,
                here=settings.common.network_id,
            )
        files.verify_free(written)
        make_tables()
        _verify_tables(db, path, manifest)
        with db.atomic(durable=True):
            fill(db, archive.rows, tuple(manifest.tables), on_step)
            on_step("Verifying")
            counts = {name: kept.rows for name, kept in manifest.tables.items()}
            verify(db, manifest.standing, counts, settings)
            files.write(written)
        db.flush()
    return manifest


def fill(
    db: Database, rows_of: Callable[[Table], Iterable[Row]], names: tuple[str, ...], on_step: Told
) -> None:
    """Write rows into empty tables, within the caller's transaction.

    Raises:
        BackupRefused: The tables have rows already.
    """
    db.acquire(Lock.INIT)
    if db.connection.vendor == "postgresql":
        db.execute("SET LOCAL statement_timeout = 0")
        db.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
    _make_room(db)
    for table in tables.EVERYTHING.tables():
        if table.name not in names:
            continue
        on_step(f"Writing {table.name}")
        table.write(db, rows_of(table))


def _make_room(db: Database) -> None:
    """Verify that the tables have no rows but those from migrations, and delete these.

    Raises:
        BackupRefused: There are further rows.
    """
    found = {table.name: table for table in tables.EVERYTHING.tables()}
    for table in found.values():
        if table.name not in _FILLED_BY_MIGRATIONS and table.has_rows(db):
            raise BackupRefused(BackupReason.NOT_EMPTY, table=table.name)
    for name in _FILLED_BY_MIGRATIONS:
        found[name].empty(db)


def _verify_tables(db: Database, path: Path, manifest: BackupManifest) -> None:
    here = tables.EVERYTHING.migrations(db)
    differing = tables.first_difference(manifest.migrations, here)
    if differing is not None:
        raise BackupRefused(
            BackupReason.OTHER_TABLES,
            where=path,
            version=manifest.version,
            differing=f"the migration {differing}",
        )
    known = {table.name: table.columns for table in tables.EVERYTHING.tables()}
    for name, kept in manifest.tables.items():
        if known.get(name) != kept.columns:
            raise BackupRefused(
                BackupReason.OTHER_TABLES,
                where=path,
                version=manifest.version,
                differing=f"the table {name}",
            )
