"""What accepted blocks were wrapped in, for who shows them."""

from chaindb.database import Database
from network_app.store import outer
from primitives.ids import NodeID


def proposer(db: Database, alias: str, height: int) -> NodeID | None:
    """Return who signed the block of a chain, "P" or "C", at a height; None: nobody, or it was never wrapped."""
    for one in outer.between(db, alias, height, height):
        return one.proposer
    return None
