"""Transactions that wait, as peers are told of them."""

from collections.abc import Sequence

from chaindb import sql
from primitives.ids import ID

_NEWEST = "SELECT tx_id FROM platform_app_mempooltx ORDER BY id DESC LIMIT %s"
_RAW = "SELECT tx_id, raw FROM platform_app_mempooltx WHERE tx_id IN ({keys})"


def newest(limit: int) -> list[ID]:
    """Return the IDs of the transactions that came last, newest last."""
    return [ID(bytes(row[0])) for row in reversed(sql.rows(_NEWEST, (limit,)))]


def raws(tx_ids: Sequence[ID]) -> dict[ID, bytes]:
    """Return the bytes of those of these transactions that wait."""
    return {ID(bytes(tx_id)): bytes(raw) for tx_id, raw in sql.rows_by_keys(_RAW, list(tx_ids))}
