"""Sees that what was written to a database is what was read: rows of each table, both heads, and the state itself."""

from collections.abc import Mapping

from cchain_app.evm.select import select_trie
from cchain_app.selectors.rebuilding import StateDiffers, verify_state
from cchain_app.store.scratch import ScratchUnusable
from chaindb.database import Database
from nodeproject.copies.backups import tables
from nodeproject.copies.backups.errors import NotTheSame, NotVerified
from nodeproject.copies.backups.manifest import Standing, standing_of
from nodeproject.settings.node import NodeSettings


def verify(
    db: Database, standing: Standing, counts: Mapping[str, int], settings: NodeSettings
) -> None:
    """Compare a database with what was noted of the rows that were to come into it, within the transaction.

    The state root is made anew of accounts and storage; it is not a column that is compared.

    Args:
        db: The database.
        standing: Where its chains should stand.
        counts: Rows that each table should have, by its name; of one that is not named, none.
        settings: The node's: who makes the trie, and where its data is.

    Raises:
        NotTheSame: Something differs.
        NotVerified: There is no room for the trie.
        OSError: Nothing can be written to the data directory.
    """
    for table in tables.all_tables():
        wanted, found = counts.get(table.name, 0), table.count(db)
        if wanted != found:
            raise NotTheSame(f"the number of rows of {table.name}", wanted, found)
    here = standing_of(db)
    if here != standing:
        raise NotTheSame("where the chains stand", standing, here)
    verify_root(db, standing, settings)


def verify_root(db: Database, standing: Standing, settings: NodeSettings) -> None:
    """See that accounts and storage are the state of the head.

    Raises:
        NotTheSame: They are not.
        NotVerified: There is no room for the trie.
        OSError: Nothing can be written to the data directory.
    """
    try:
        verify_state(db, select_trie(settings.engine, cached=False), settings.directory)
    except StateDiffers as error:
        raise NotTheSame(
            "the state", f"that of {standing.state_root}", f"another: {error}"
        ) from error
    except ScratchUnusable as error:
        raise NotVerified(error) from error
