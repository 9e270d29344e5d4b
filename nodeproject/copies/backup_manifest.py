"""The manifest of a backup (the node and chains that it is of, their heads, the number of rows), and reasons for refusals."""

import time
from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

from cchain_app.store import chain as cchain_rows
from chaindb.database import Database
from nodeproject.copies import tables
from nodeproject.copies.snapshot_manifest import Head, heads_of
from primitives.product import VERSION
from primitives.reasons import ErrorWithReason


class BackupReason(StrEnum):
    """Why a backup is refused."""

    FILE_EXISTS = "the file {path} exists already: a backup does not overwrite files"
    FILE_IN_USE = "another process is writing {path}"
    UNREADABLE = "the file {path} cannot be read as a backup: {cause}"
    LATER_FORMAT = (
        "the backup {path} was written by version {version}, in a later format than this one reads"
    )
    NO_CHAIN = "this node has no chain yet: start it once"
    OTHER_TABLES = (
        "the rows of {where} have the tables of version {version}, which differ from this one's by {differing}: "
        "run that version, and upgrade afterwards"
    )
    NOT_UPGRADED = (
        "the tables in {path} are another version's, they differ by the migration {migration}: run init_node "
        "of this version in the embedded profile first"
    )
    OTHER_NETWORK = "the node of {where} is on network {saved}, but NODE_NETWORK_ID is {here}"
    NOT_EMPTY = (
        "the database here is not empty: its table {table} has rows. Name another NODE_DATA_DIR or "
        "NODE_DATABASE_URL"
    )
    OTHER_FILE = "the file {path} exists already with other content: name another directory"
    NOT_THE_SAME = "{what} should be {saved}, but is {here}: nothing was restored"
    NOT_VERIFIED = (
        "the written state cannot be verified, and nothing was kept: {cause}; free space there for a second state "
        "trie, and start again"
    )
    NO_SOURCE = "there is no {path}: NODE_DATA_DIR must name the node to move"
    NEEDS_POSTGRESQL = (
        "the rows are written to the database of NODE_DATABASE_URL, which is not a PostgreSQL database: set it, and "
        "NODE_PROFILE=production"
    )


class BackupRefused(ErrorWithReason):
    """A backup is not made or not restored, or a node is not moved."""


FORMAT: Final = 1
"""Format of the file; a program reads its own and earlier ones."""


class TableRecord(NamedTuple):
    """The columns and the number of rows of a table in a backup."""

    columns: tuple[str, ...]
    rows: int


class ChainsState(msgspec.Struct, frozen=True):
    """The state of a database's chains."""

    network_id: int
    chain_id: int | None
    """The C-Chain's initial chain ID; None: this node does not take part in the C-Chain."""
    pchain: Head
    cchain: Head | None
    state_root: str | None
    """The state root of the C-Chain's head, 0x…."""


class ChainRecord(msgspec.Struct, frozen=True):
    """A chain of a subnet in a backup: its head, and the number of rows of its tables; other tables have none."""

    height: int
    hash: str
    """The hash of the head, 0x…."""
    state_root: str
    """The state root of the head, 0x…."""
    tables: dict[str, int]


class BackupManifest(msgspec.Struct, frozen=True):
    """All data of a backup that can be read without its rows."""

    version: str
    """Version of the program that has written the backup."""
    saved_at: int
    """Wall time, Unix seconds."""
    standing: ChainsState
    has_keys: bool
    """Whether the backup has the node's keys, encrypted keys of the keystore's users, and the admin's users."""
    migrations: tuple[str, ...]
    """The migrations that created the tables: app.name, in order."""
    tables: dict[str, TableRecord]
    files: tuple[str, ...]
    format: int = FORMAT
    chains: dict[str, ChainRecord] = {}
    """The chains of subnets by blockchain ID."""


def chains_state_of(db: Database) -> ChainsState:
    """Return the state of the chains, as seen by this thread's transaction.

    Raises:
        BackupRefused: There is no chain.
    """
    found = heads_of(db) if db.has_table("platform_app_chain") else None
    if found is None:
        raise BackupRefused(BackupReason.NO_CHAIN)
    root = None
    if found.cchain is not None:
        root = f"0x{cchain_rows.state_root_of(db, found.cchain.height).hex()}"
    return ChainsState(found.network_id, found.chain_id, found.pchain, found.cchain, root)


def manifest_of(
    db: Database,
    standing: ChainsState,
    counted: dict[str, TableRecord],
    files: tuple[str, ...],
    chains: dict[str, ChainRecord],
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
        chains=chains,
    )
