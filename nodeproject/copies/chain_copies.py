"""The rows of chains of subnets in a backup, in a restored node and in a move to another database.

Each of these chains has a database of its own (`startup.chain_databases`), so each is written and verified by itself.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from cchain_app.evm.select import select_trie
from cchain_app.selectors.rebuilding import ScratchUnusable, StateDiffers, verify_state
from cchain_app.store import chain as stored
from cchain_app.store import subnet_chains as chain_rows
from chaindb.database import Database, Row
from chaindb.rows import Table
from nodeproject.copies import tables
from nodeproject.copies.backup_manifest import BackupReason, BackupRefused, ChainRecord
from nodeproject.settings.node import NodeSettings
from nodeproject.startup import chain_databases
from nodeproject.startup.database import make_tables, opened_file
from primitives.ids import ID

RowsOf = Callable[[Table], Iterable[Row]]

_CHECKED: Final = "checked"
"""Django's alias of the temporary database in `check_in_file`."""


def databases_of(db: Database, settings: NodeSettings) -> dict[ID, Database]:
    """Return the databases of the chains that have one, opened."""
    return {
        row.blockchain_id: chain_databases.open_database(row.blockchain_id, settings)
        for row in chain_rows.rows(db)
        if row.database
    }


def record_of(db: Database) -> ChainRecord:
    """Return a chain's head for the manifest of a backup, without row counts, as seen by this thread's transaction."""
    head = stored.head_id(db)
    number, block_hash = (0, b"") if head is None else head
    root = b"" if head is None else stored.state_root_of(db, number)
    return ChainRecord(number, f"0x{bytes(block_hash).hex()}", f"0x{bytes(root).hex()}", {})


def tables_with_rows(db: Database) -> list[Table]:
    """Return the tables of a chain's database that have rows to be copied."""
    return [table for table in tables.SNAPSHOT.tables() if table.has_rows(db)]


@contextmanager
def made_anew(
    blockchain_ids: Iterable[ID], settings: NodeSettings
) -> Iterator[Mapping[ID, Database]]:
    """Make empty databases of chains for the body, and remove them if the body fails.

    The node's own database is empty, so existing databases of chains are left over from an interrupted restore. They are
    replaced.

    Raises:
        CannotStart: A database cannot be made; likewise DatabaseError and OSError.
    """
    made: dict[ID, Database] = {}
    try:
        for blockchain_id in blockchain_ids:
            chain_databases.remove_database(blockchain_id, settings)
            made[blockchain_id] = chain_databases.make_database(blockchain_id, settings)
        yield made
    except BaseException:
        for blockchain_id in made:
            chain_databases.remove_database(blockchain_id, settings)
        raise


def write(
    db: Database, blockchain_id: ID, record: ChainRecord, rows_of: RowsOf, settings: NodeSettings
) -> None:
    """Write the rows of a chain into its empty database, and verify them.

    Raises:
        BackupRefused: They are not as recorded, or cannot be verified; nothing is written.
        OSError: The data directory cannot be written.
    """
    with db.atomic(durable=True):
        if db.connection.vendor == "postgresql":
            db.execute("SET LOCAL statement_timeout = 0")
            db.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        for table in tables.SNAPSHOT.tables():
            if table.name in record.tables:
                table.write(db, rows_of(table))
        _verify(db, blockchain_id, record, settings)
    db.flush()


def check_in_file(
    blockchain_id: ID, record: ChainRecord, rows_of: RowsOf, settings: NodeSettings
) -> None:
    """Write and verify the rows of a chain in a temporary SQLite file, to verify a backup. Raises as `write`."""
    directory = settings.common.directory
    with (
        TemporaryDirectory(prefix="verify-", dir=directory) as scratch,
        opened_file(Path(scratch) / "chain.sqlite3", _CHECKED, settings) as db,
    ):
        make_tables(_CHECKED)
        write(db, blockchain_id, record, rows_of, settings)


def _verify(db: Database, blockchain_id: ID, record: ChainRecord, settings: NodeSettings) -> None:
    def differs(what: str, saved: object, here: object) -> BackupRefused:
        where = f"{what} of chain {blockchain_id}"
        return BackupRefused(BackupReason.NOT_THE_SAME, what=where, saved=saved, here=here)

    counts = {table.name: table.count(db) for table in tables.SNAPSHOT.tables()}
    here = {name: count for name, count in counts.items() if count}
    for name in sorted(here.keys() | record.tables.keys()):
        if here.get(name, 0) != record.tables.get(name, 0):
            raise differs(
                f"the number of rows of {name}", record.tables.get(name, 0), here.get(name, 0)
            )
    found = record_of(db)
    if (found.height, found.hash, found.state_root) != (
        record.height, record.hash, record.state_root,
    ):  # fmt: skip
        raise differs("the head", record.hash, found.hash)
    try:
        verify_state(db, select_trie(settings.cchain.engine), settings.common.directory)
    except StateDiffers as error:
        raise differs("the state", f"that of {record.state_root}", f"another: {error}") from error
    except ScratchUnusable as error:
        raise BackupRefused(BackupReason.NOT_VERIFIED, cause=error) from error
