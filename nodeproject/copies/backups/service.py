"""Saves a node in one file while it runs, and restores one from it where nothing is yet."""

from collections.abc import Callable, Iterable
from pathlib import Path

from chaindb.database import Database, Row
from chaindb.locks import Lock
from chaindb.rows import Table
from chaindb.snapshots.postgresql import raise_sequences
from nodeproject.copies.backups import files, tables
from nodeproject.copies.backups.archive import reading, writing
from nodeproject.copies.backups.errors import OtherNetwork, OtherTables
from nodeproject.copies.backups.manifest import Kept, Manifest, manifest_of, standing_of
from nodeproject.copies.backups.verification import verify
from nodeproject.settings.node import NodeSettings
from nodeproject.startup.initialise import make_tables

Told = Callable[[str], object]
"""Is told what is done next, in words."""


def backup(
    settings: NodeSettings, db: Database, path: Path, *, keys: bool = True, told: Told = str
) -> Manifest:
    """Save the node as it is at this moment; it may run meanwhile, and nobody who writes waits.

    Args:
        settings: The node's.
        db: Where its rows are.
        path: The file; there must be none yet.
        keys: Whether the node's keys, users' sealed ones and who may open the admin are saved.
        told: Is told of each table.

    Raises:
        BackupRefused: By a subclass: there is no file, or the one that was there.
        DatabaseError: The rows cannot be read.
        OSError: The file cannot be written.
    """
    counted: dict[str, Kept] = {}
    with writing(path) as archive, db.as_of_one_moment():
        standing = standing_of(db)
        for table in tables.all_tables(keys=keys):
            told(f"Saving {table.name}")
            counted[table.name] = Kept(table.columns, archive.add_rows(table.name, table.read(db)))
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


def restore(settings: NodeSettings, db: Database, path: Path, *, told: Told = str) -> Manifest:
    """Bring a node into a data directory and a database that are empty, and see that it is the one that was saved.

    All rows come in one transaction, and files only where it has verified them: what is not finished can be begun
    again. The database may be of the other kind than the one that was saved.

    Args:
        settings: Of the node that is to be.
        db: Where its rows are to be.
        path: The backup.
        told: Is told of each table.

    Raises:
        BackupRefused: By a subclass: there are no rows, as before.
        DatabaseError: They cannot be written.
        OSError: A file cannot be written.
    """
    with reading(path) as archive:
        manifest = archive.manifest
        places = files.paths(settings, keys=True)
        saved = archive.files(places)
        written = {places[name]: content for name, content in saved.items()}
        if manifest.standing.network_id != settings.network_id:
            raise OtherNetwork(path, manifest.standing.network_id, settings.network_id)
        files.verify_free(written)
        make_tables()
        _verify_tables(db, path, manifest)
        with db.atomic(durable=True):
            fill(db, archive.rows, tuple(manifest.tables), told)
            told("Verifying")
            counts = {name: kept.rows for name, kept in manifest.tables.items()}
            verify(db, manifest.standing, counts, settings)
            files.write(written)
        db.flush()
    return manifest


def fill(
    db: Database, rows_of: Callable[[Table], Iterable[Row]], names: tuple[str, ...], told: Told
) -> None:
    """Write the rows of tables into empty ones, within the caller's transaction.

    Raises:
        NotEmpty: They are not.
    """
    db.acquire(Lock.INIT)
    if db.connection.vendor == "postgresql":
        db.execute("SET LOCAL statement_timeout = 0")
        db.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
    tables.make_room(db)
    for table in tables.all_tables():
        if table.name not in names:
            continue
        told(f"Writing {table.name}")
        table.write(db, rows_of(table))
        if db.connection.vendor == "postgresql":
            raise_sequences(db, table.name)


def _verify_tables(db: Database, path: Path, manifest: Manifest) -> None:
    here = tables.migrations(db)
    differing = set(manifest.migrations) ^ set(here)
    if differing:
        raise OtherTables(path, manifest.version, f"the migration {min(differing)}")
    known = {table.name: table.columns for table in tables.all_tables()}
    for name, kept in manifest.tables.items():
        if known.get(name) != kept.columns:
            raise OtherTables(path, manifest.version, f"the table {name}")
