"""The manifest of a backup: the node and chains that it is of, their heads, and the number of rows."""

import time
from typing import Final, NamedTuple

import msgspec

from cchain_app.store import chain as cchain_rows
from chaindb.database import Database
from nodeproject.copies import tables
from nodeproject.copies.backups.errors import BackupReason, BackupRefused
from nodeproject.copies.snapshots import heads
from nodeproject.copies.snapshots.manifest import Head
from primitives.product import VERSION

FORMAT: Final = 1
"""Format of the file; a program reads its own and earlier ones."""


class TableRecord(NamedTuple):
    """The columns and the number of rows of a table in a backup."""

    columns: tuple[str, ...]
    rows: int


class Standing(msgspec.Struct, frozen=True):
    """The state of a database's chains."""

    network_id: int
    chain_id: int | None
    """The C-Chain's initial chain ID; None: this node does not take part in the C-Chain."""
    pchain: Head
    cchain: Head | None
    state_root: str | None
    """The state root of the C-Chain's head, 0x…."""


class BackupManifest(msgspec.Struct, frozen=True):
    """All data of a backup that can be read without its rows."""

    version: str
    """Version of the program that has written the backup."""
    saved_at: int
    """Wall time, Unix seconds."""
    standing: Standing
    has_keys: bool
    """Whether the backup has the node's keys, encrypted keys of the keystore's users, and the admin's users."""
    migrations: tuple[str, ...]
    """The migrations that created the tables: app.name, in order."""
    tables: dict[str, TableRecord]
    files: tuple[str, ...]
    format: int = FORMAT


def standing_of(db: Database) -> Standing:
    """Return the state of the chains, as seen by this thread's transaction.

    Raises:
        BackupRefused: There is no chain.
    """
    found = heads.of(db) if db.has_table("platform_app_chain") else None
    if found is None:
        raise BackupRefused(BackupReason.NO_CHAIN)
    root = None
    if found.cchain is not None:
        root = f"0x{cchain_rows.state_root_of(db, found.cchain.height).hex()}"
    return Standing(found.network_id, found.chain_id, found.pchain, found.cchain, root)


def manifest_of(
    db: Database,
    standing: Standing,
    counted: dict[str, TableRecord],
    files: tuple[str, ...],
    *,
    keys: bool,
) -> BackupManifest:
    """Return the manifest of a backup made now."""
    return BackupManifest(
        version=VERSION,
        saved_at=int(time.time()),
        standing=standing,
        has_keys=keys,
        migrations=tables.EVERYTHING.migrations(db),
        tables=counted,
        files=files,
    )
