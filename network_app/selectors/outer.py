"""Outer blocks of accepted blocks, for display."""

from chaindb.database import Database
from network_app.store import outer
from primitives.ids import NodeID


def proposer(db: Database, alias: str, height: int) -> NodeID | None:
    """Return the signer of the block of a chain at a height; None if unsigned or never wrapped."""
    for item in outer.between(db, alias, height, height):
        return item.proposer
    return None
