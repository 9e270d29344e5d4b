"""Verifies that a database equals its source: the rows of each table, both heads, and the state itself."""

from collections.abc import Mapping

from cchain_app.evm.select import select_trie
from cchain_app.selectors.rebuilding import ScratchUnusable, StateDiffers, verify_state
from chaindb.database import Database
from nodeproject.copies import tables
from nodeproject.copies.backups.errors import BackupReason, BackupRefused
from nodeproject.copies.backups.manifest import Standing, standing_of
from nodeproject.settings.node import NodeSettings


def verify(
    db: Database, standing: Standing, counts: Mapping[str, int], settings: NodeSettings
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
    here = standing_of(db)
    if here != standing:
        raise BackupRefused(
            BackupReason.NOT_THE_SAME, what="where the chains stand", saved=standing, here=here
        )
    verify_root(db, standing, settings)


def verify_root(db: Database, standing: Standing, settings: NodeSettings) -> None:
    """Verify that accounts and storage have the head's state root.

    Raises:
        BackupRefused: They have another one, or the space for the trie is missing.
        OSError: The data directory cannot be written.
    """
    try:
        verify_state(
            db, select_trie(settings.cchain.engine, cached=False), settings.common.directory
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
