"""Reads whether the database has a P-Chain without importing the chain's modules, so that a restart imports them later."""

from typing import Final, NamedTuple

from chaindb.database import Database
from primitives.ids import PRIMARY_NETWORK_ID

_STORED: Final = """
SELECT c.network_id, c.unit, c.height,
       EXISTS (SELECT 1 FROM platform_app_genesis g WHERE g.genesis_hash = c.genesis_hash),
       EXISTS (SELECT 1 FROM platform_app_blockchain b WHERE b.subnet_id <> %s)
FROM platform_app_chain c
"""


class StoredPlatform(NamedTuple):
    """A P-Chain's rows, in short."""

    network_id: int
    unit: int
    """Smallest units of a coin."""
    height: int
    """Height of the last accepted block."""
    has_genesis_bytes: bool
    has_chains_of_subnets: bool


def stored_platform(db: Database) -> StoredPlatform | None:
    """Return a summary of the P-Chain in a database; None before the genesis."""
    row = db.row(_STORED, (PRIMARY_NETWORK_ID,))
    if row is None:
        return None
    network_id, unit, height, has_bytes, has_chains = row
    return StoredPlatform(network_id, unit, height, bool(has_bytes), bool(has_chains))
