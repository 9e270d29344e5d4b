"""Sees that what was written to a database is what was read: rows of each table, both heads, and the state itself."""

from collections.abc import Mapping

from cchain_app.evm.select import select_trie
from cchain_app.selectors.rebuilding import StateDiffers, verify_state
from chaindb.database import Database
from nodeproject.backups import tables
from nodeproject.backups.errors import NotTheSame
from nodeproject.backups.manifest import Standing, standing_of


def verify(db: Database, standing: Standing, counts: Mapping[str, int], engine: str) -> None:
    """Compare a database with what was noted of the rows that were to come into it, within the transaction.

    The state root is made anew of accounts and storage; it is not a column that is compared.

    Args:
        db: The database.
        standing: Where its chains should stand.
        counts: Rows that each table should have, by its name; of one that is not named, none.
        engine: NODE_ENGINE: who makes the trie.

    Raises:
        NotTheSame: Something differs.
    """
    for table in tables.all_tables():
        wanted, found = counts.get(table.name, 0), table.count(db)
        if wanted != found:
            raise NotTheSame(f"the number of rows of {table.name}", wanted, found)
    here = standing_of(db)
    if here != standing:
        raise NotTheSame("where the chains stand", standing, here)
    verify_root(db, standing, engine)


def verify_root(db: Database, standing: Standing, engine: str) -> None:
    """See that accounts and storage are the state of the head.

    Raises:
        NotTheSame: They are not.
    """
    try:
        verify_state(db, select_trie(engine, cached=False))
    except StateDiffers as error:
        raise NotTheSame(
            "the state", f"that of {standing.state_root}", f"another: {error}"
        ) from error
