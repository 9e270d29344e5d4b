"""Saves a node in one file while it runs, and restores it into an empty node, which is verified to equal the saved one.

The files in a backup are the node's identity, the genesis of its chains, the upgrade files of chains of subnets, and the admin's first password. Django's secret key
is not included, because it only signs sessions and can be created again, nor are files of a process.
"""

import logging
import re
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from django.db import DatabaseError

from cchain_app.evm.select import select_trie
from cchain_app.selectors.rebuilding import ScratchUnusable, StateDiffers, verify_state
from cchain_app.store import subnet_chains as chain_rows
from cchain_app.store.chain import is_of_coreth
from chaindb import last_backup
from chaindb.database import Database, Row
from chaindb.locks import Lock
from chaindb.rows import Table
from nodeproject.copies import chain_copies, tables
from nodeproject.copies.backup_archive import reading, writing
from nodeproject.copies.backup_manifest import (
    BackupManifest,
    BackupReason,
    BackupRefused,
    ChainRecord,
    ChainsState,
    TableRecord,
    chains_state_of,
    manifest_of,
)
from nodeproject.settings.node import NodeSettings
from nodeproject.startup.chain_databases import upgrade_file_of
from nodeproject.startup.database import make_tables, opened_file
from primitives.cb58 import Cb58Error
from primitives.ids import ID, IdError
from primitives.whole_files import write_whole

_UPGRADES: Final = "upgrades/"
"""Beginning of the names of upgrade files in a backup; a blockchain ID follows."""


def _paths(settings: NodeSettings, *, keys: bool) -> dict[str, Path]:
    """Return the paths of a node's files by their names in a backup; some may not exist.

    Args:
        settings: The node's settings.
        keys: Whether to include files with keys and passwords.
    """
    genesis = settings.common.genesis_directory
    found = {
        "cchain_genesis.json": settings.common.directory / "cchain_genesis.json",
        "genesis/cchain.json": genesis / "cchain.json",
        "genesis/platform.bin": genesis / "platform.bin",
        "genesis/producers": genesis / "producers",
    }
    if keys:
        found |= {
            "staking/staker.crt": settings.certificate_path,
            "staking/staker.key": settings.staking_key_path,
            "staking/signer.key": settings.signer_path,
            "admin_password": settings.password_path,
        }
    return found


def _upgrade_files(blockchain_ids: Iterable[ID], settings: NodeSettings) -> dict[str, Path]:
    """Return the paths of the upgrade files of chains of subnets by their names in a backup; some may not exist."""
    return {
        f"{_UPGRADES}{blockchain_id}": upgrade_file_of(blockchain_id, settings)
        for blockchain_id in blockchain_ids
    }


def _saved_upgrade_files(manifest: BackupManifest, settings: NodeSettings) -> dict[str, Path]:
    """Return the paths of the upgrade files in a backup."""
    found = []
    for name in manifest.files:
        with suppress(Cb58Error, IdError):
            if name.startswith(_UPGRADES):
                found.append(ID.parse(name.removeprefix(_UPGRADES)))
    return _upgrade_files(found, settings)


def _verify_free(files: Mapping[Path, bytes]) -> None:
    """Verify that files can be written: each is missing or has the same content already.

    Raises:
        BackupRefused: A file exists with other content.
    """
    for path, content in files.items():
        if path.exists() and path.read_bytes() != content:
            raise BackupRefused(BackupReason.OTHER_FILE, path=path)


def _write(files: Mapping[Path, bytes]) -> None:
    """Write files for their owner only, each atomically and flushed to the disk.

    A file that already has its content is not written: it may be mounted read-only.
    """
    for path, content in files.items():
        if path.exists() and path.read_bytes() == content:
            continue
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(path, content)


def verify(
    db: Database, standing: ChainsState, counts: Mapping[str, int], settings: NodeSettings
) -> None:
    """Compare a database with the counts and heads recorded for the rows written to it, within the transaction.

    The state root is computed again from accounts and storage, not read from a column.

    Args:
        db: The database.
        standing: The expected state of its chains.
        counts: The expected number of rows by table; tables that are not listed must be empty.
        settings: The node's settings, which determine the trie's implementation and the data directory.

    Raises:
        BackupRefused: The data differ, or the space for the trie is missing.
        OSError: The data directory cannot be written.
    """
    for name, found in tables.EVERYTHING.counts(db).items():
        wanted = counts.get(name, 0)
        if wanted != found:
            raise BackupRefused(
                BackupReason.NOT_THE_SAME,
                what=f"the number of rows of {name}",
                saved=wanted,
                here=found,
            )
    here = chains_state_of(db)
    if here != standing:
        raise BackupRefused(
            BackupReason.NOT_THE_SAME, what="the heads of the chains", saved=standing, here=here
        )
    verify_root(db, standing, settings)


def verify_root(db: Database, standing: ChainsState, settings: NodeSettings) -> None:
    """Verify that accounts and storage have the head's state root.

    Raises:
        BackupRefused: They have another one, or the space for the trie is missing.
        OSError: The data directory cannot be written.
    """
    try:
        verify_state(
            db,
            select_trie(settings.cchain.engine, of_coreth=is_of_coreth(db)),
            settings.common.directory,
        )
    except StateDiffers as error:
        raise BackupRefused(
            BackupReason.NOT_THE_SAME,
            what="the state",
            saved=f"that of {standing.state_root}",
            here=f"another: {error}",
        ) from error
    except ScratchUnusable as error:
        raise BackupRefused(BackupReason.NOT_VERIFIED, cause=error) from error


_DATED: Final = re.compile(r"node-\d{8}T\d{6}Z\.backup")
"""Names of the files that `backup_into` writes."""
_VERIFIED: Final = "verified"
"""Django's alias of the temporary database in `verify_file`."""

_log: Final = logging.getLogger(__name__)

Told = Callable[[str], object]
"""Called with a description of each step."""

_FILLED_BY_MIGRATIONS: Final = ("auth_permission", "django_content_type")
"""In the order in which their rows can be deleted."""


def backup(
    settings: NodeSettings, db: Database, path: Path, *, keys: bool = True, on_step: Told = str
) -> BackupManifest:
    """Save the node's state at this moment; the node may continue to run, and no writer has to wait.

    The database records that there is a backup. If it takes no writes at the moment, the backup is still complete, and a
    warning is logged.

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
    began = time.monotonic()
    counted: dict[str, TableRecord] = {}
    chains: dict[str, ChainRecord] = {}
    opened = chain_copies.databases_of(db, settings)
    with writing(path) as archive, ExitStack() as moments:
        # The chains of subnets first: a chain of which there is a row has its rows then.
        for blockchain_id, own in opened.items():
            moments.enter_context(own.consistent_read())
            chains[str(blockchain_id)] = chain_copies.record_of(own)
        moments.enter_context(db.consistent_read())
        standing = chains_state_of(db)
        for table in (tables.EVERYTHING if keys else tables.WITHOUT_PEOPLE).tables():
            on_step(f"Saving {table.name}")
            counted[table.name] = TableRecord(
                table.columns, archive.add_rows(table.name, table.read(db))
            )
        for blockchain_id, own in opened.items():
            named = str(blockchain_id)
            on_step(f"Saving chain {named}")
            for table in chain_copies.tables_with_rows(own):
                rows = archive.add_rows(table.name, table.read(own), named)
                chains[named].tables[table.name] = rows
        every = (row.blockchain_id for row in chain_rows.rows(db))
        paths = _paths(settings, keys=keys) | _upgrade_files(every, settings)
        there = {name: found for name, found in paths.items() if found.exists()}
        for name, found in there.items():
            archive.add_file(name, found.read_bytes())
        manifest = manifest_of(db, standing, counted, tuple(there), chains, keys=keys)
        archive.finish(manifest)
    try:
        size, seconds = path.stat().st_size, time.monotonic() - began
        last_backup.record(db, datetime.now(UTC), size, seconds)
    except DatabaseError as error:
        _log.warning(
            "the backup %s is complete, but the database does not record it: %s", path, error
        )
    return manifest


def backup_into(
    settings: NodeSettings,
    db: Database,
    directory: Path,
    *,
    keep: int | None = None,
    keys: bool = True,
    on_step: Told = str,
) -> tuple[Path, BackupManifest, list[Path]]:
    """Save the node in a file of a directory that is named by the time, and delete old files of that kind.

    Args:
        settings: The node's settings.
        db: The node's database.
        directory: The directory, which must exist.
        keep: The number of files to keep, at least 1; the new file is one of them. None: delete none.
        keys: As for `backup`.
        on_step: As for `backup`.

    Returns:
        The new file, its manifest, and the deleted files. Other files in the directory are not touched.

    Raises:
        BackupRefused: As for `backup`; no file was deleted.
        DatabaseError: The rows cannot be read.
        OSError: The file cannot be written, or an old one cannot be deleted.
    """
    path = directory / f"node-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.backup"
    manifest = backup(settings, db, path, keys=keys, on_step=on_step)
    named = sorted(found for found in directory.iterdir() if _DATED.fullmatch(found.name))
    old = [] if keep is None else [found for found in named if found != path][: len(named) - keep]
    for found in old:
        found.unlink()
    return path, manifest, old


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
        places = _paths(settings, keys=True) | _saved_upgrade_files(manifest, settings)
        saved = archive.files(places)
        written = {places[name]: content for name, content in saved.items()}
        if manifest.standing.network_id != settings.common.network_id:
            raise BackupRefused(
                BackupReason.OTHER_NETWORK,
                where=path,
                saved=manifest.standing.network_id,
                here=settings.common.network_id,
            )
        _verify_free(written)
        make_tables()
        _verify_tables(db, path, manifest)
        verify_empty(db)
        with (
            chain_copies.made_anew(_ids(path, manifest), settings) as made,
            db.atomic(durable=True),
        ):
            fill(db, archive.rows, tuple(manifest.tables), on_step)
            on_step("Verifying")
            counts = {name: kept.rows for name, kept in manifest.tables.items()}
            verify(db, manifest.standing, counts, settings)
            for blockchain_id, own in made.items():
                named = str(blockchain_id)
                on_step(f"Writing chain {named}")
                rows_of = partial(archive.rows, chain=named)
                chain_copies.write(own, blockchain_id, manifest.chains[named], rows_of, settings)
            _write(written)
        db.flush()
    return manifest


def verify_file(settings: NodeSettings, path: Path, *, on_step: Told = str) -> BackupManifest:
    """Verify that a backup can be restored, without changing a node.

    All rows are written into a temporary SQLite file in the data directory, and verified there as `restore` does. It needs
    about the size of the saved database, and is deleted afterwards.

    Args:
        settings: The settings of a node, whose data directory has room.
        path: The backup.
        on_step: Called for each table.

    Raises:
        BackupRefused: The backup could not be restored.
        DatabaseError: The rows cannot be written.
        OSError: The temporary file cannot be written.
    """
    common = settings.common
    common.directory.mkdir(parents=True, exist_ok=True)
    with (
        reading(path) as archive,
        TemporaryDirectory(prefix="verify-", dir=common.directory) as scratch,
        opened_file(Path(scratch) / "node.sqlite3", _VERIFIED, settings) as db,
    ):
        manifest = archive.manifest
        archive.files(_paths(settings, keys=True) | _saved_upgrade_files(manifest, settings))
        make_tables(_VERIFIED)
        _verify_tables(db, path, manifest)
        with db.atomic(durable=True):
            fill(db, archive.rows, tuple(manifest.tables), on_step)
            on_step("Verifying")
            counts = {name: kept.rows for name, kept in manifest.tables.items()}
            verify(db, manifest.standing, counts, settings)
        for blockchain_id in _ids(path, manifest):
            named = str(blockchain_id)
            on_step(f"Verifying chain {named}")
            rows_of = partial(archive.rows, chain=named)
            chain_copies.check_in_file(blockchain_id, manifest.chains[named], rows_of, settings)
    return manifest


def _ids(path: Path, manifest: BackupManifest) -> list[ID]:
    """Return the chains of subnets in a backup.

    Raises:
        BackupRefused: The manifest names one by no blockchain ID.
    """
    try:
        return [ID.parse(name) for name in manifest.chains]
    except (Cb58Error, IdError) as error:
        raise BackupRefused(BackupReason.UNREADABLE, path=path, cause=error) from error


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
    verify_empty(db)
    found = {table.name: table for table in tables.EVERYTHING.tables()}
    for name in _FILLED_BY_MIGRATIONS:
        found[name].empty(db)


def verify_empty(db: Database) -> None:
    """Verify that the tables have no rows but those from migrations.

    Raises:
        BackupRefused: There are further rows.
    """
    for table in tables.EVERYTHING.tables():
        if table.name not in _FILLED_BY_MIGRATIONS and table.has_rows(db):
            raise BackupRefused(BackupReason.NOT_EMPTY, table=table.name)


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
