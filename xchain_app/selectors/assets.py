"""Assets by ID and by their names in the genesis, and their supplies."""

from typing import NamedTuple

from primitives.ids import ID
from xchain_app.chain import AvmChain

_ASSET = """
SELECT asset_id, alias, name, symbol, denomination, extensions, height FROM xchain_app_xasset
"""
_BY_ID = _ASSET + "WHERE asset_id = %s"
_BY_ALIAS = _ASSET + "WHERE alias = %s AND alias <> ''"
_COUNT = "SELECT COUNT(*) FROM xchain_app_xasset"
_ALIASES = "SELECT asset_id, alias FROM xchain_app_xasset WHERE alias <> ''"


class StoredAsset(NamedTuple):
    """An asset as stored in the database."""

    asset_id: ID
    alias: str
    """Its name in the genesis; empty for other assets."""
    name: str
    symbol: str
    denomination: int
    """Number of decimals."""
    extensions: int
    """Sum of 1 for coins, 2 for collectibles, 4 for property."""
    height: int


def asset(chain: AvmChain, asset_id: ID) -> StoredAsset | None:
    """Return the asset with this ID, or None if no accepted transaction created it."""
    row = chain.db.row(_BY_ID, (asset_id,))
    return None if row is None else StoredAsset(ID(bytes(row[0])), *row[1:])


def asset_named(chain: AvmChain, alias: str) -> StoredAsset | None:
    """Return the asset with this name in the genesis, or None."""
    row = chain.db.row(_BY_ALIAS, (alias,))
    return None if row is None else StoredAsset(ID(bytes(row[0])), *row[1:])


def aliases(chain: AvmChain) -> dict[ID, str]:
    """Return the names of the assets of the genesis."""
    return {ID(bytes(asset_id)): alias for asset_id, alias in chain.db.rows(_ALIASES)}


def count(chain: AvmChain) -> int:
    """Return the number of assets."""
    return int(chain.db.rows(_COUNT)[0][0])
