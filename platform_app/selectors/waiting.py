"""Transactions that wait, as peers are told of them."""

from collections.abc import Sequence

from platform_app.chain import PlatformChain
from primitives.ids import ID

_NEWEST = "SELECT tx_id FROM platform_app_mempooltx ORDER BY id DESC LIMIT %s"
_RAW = "SELECT tx_id, raw FROM platform_app_mempooltx WHERE tx_id IN ({keys})"


def newest(chain: PlatformChain, limit: int) -> list[ID]:
    """Return the IDs of the transactions that came last, newest last."""
    return [ID(bytes(row[0])) for row in reversed(chain.db.rows(_NEWEST, (limit,)))]


def raws(chain: PlatformChain, tx_ids: Sequence[ID]) -> dict[ID, bytes]:
    """Return the bytes of those of these transactions that wait."""
    return {
        ID(bytes(tx_id)): bytes(raw) for tx_id, raw in chain.db.rows_by_keys(_RAW, list(tx_ids))
    }
