"""What is written down with a backup: of which node and chains it is, where they stood, and how many rows there are."""

import time
from typing import Final, NamedTuple

import msgspec

from cchain_app.store import chain as cchain_rows
from chaindb.database import Database
from nodeproject.copies.backups import tables
from nodeproject.copies.backups.errors import NoChainYet
from nodeproject.copies.snapshots import heads
from nodeproject.copies.snapshots.manifest import Head
from primitives.product import VERSION

FORMAT: Final = 1
"""Of the file; a program reads its own and earlier ones."""


class Kept(NamedTuple):
    """What a backup has of a table."""

    columns: tuple[str, ...]
    rows: int


class Standing(msgspec.Struct, frozen=True):
    """Where the chains of a database stand."""

    network_id: int
    chain_id: int | None
    """With which the C-Chain began; None: this node does not take part in it."""
    pchain: Head
    cchain: Head | None
    state_root: str | None
    """Of the C-Chain's head, 0x…."""


class Manifest(msgspec.Struct, frozen=True):
    """All that is known of a backup without a look at its rows."""

    version: str
    """Of the program that has written it."""
    saved_at: int
    """Wall time, Unix seconds."""
    standing: Standing
    has_keys: bool
    """Whether it has the node's keys, users' sealed ones, and who may open the admin."""
    migrations: tuple[str, ...]
    """By which the tables were made: app.name, in order."""
    tables: dict[str, Kept]
    files: tuple[str, ...]
    format: int = FORMAT


def standing_of(db: Database) -> Standing:
    """Return where the chains stand, of what this thread's transaction sees.

    Raises:
        NoChainYet: There is no chain.
    """
    found = heads.of(db) if db.has_table("platform_app_chain") else None
    if found is None:
        raise NoChainYet
    root = None
    if found.cchain is not None:
        head = cchain_rows.load_block(db, found.cchain.height)
        root = f"0x{head.header.state_root.hex()}"
    return Standing(found.network_id, found.chain_id, found.pchain, found.cchain, root)


def manifest_of(
    db: Database,
    standing: Standing,
    counted: dict[str, Kept],
    files: tuple[str, ...],
    *,
    keys: bool,
) -> Manifest:
    """Return what is written down with a backup that is made now."""
    return Manifest(
        version=VERSION,
        saved_at=int(time.time()),
        standing=standing,
        has_keys=keys,
        migrations=tables.migrations(db),
        tables=counted,
        files=files,
    )
