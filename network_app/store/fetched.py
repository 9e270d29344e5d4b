"""Blocks that were fetched while bootstrapping and wait to be executed."""

from collections.abc import Sequence

from chaindb import bulk, sql
from network_app.models import FetchedBlock, outer_id
from network_app.ports import BlockPlace, ParsedBlock
from primitives.ids import ID

_COLUMNS = ("id", "chain", "height", "block_id", "parent_id", "raw")
_ABOVE = """
SELECT height, block_id, parent_id, raw FROM network_app_fetchedblock
WHERE chain = %s AND height > %s ORDER BY height LIMIT %s
"""
_LOWEST = """
SELECT height, block_id, parent_id FROM network_app_fetchedblock
WHERE chain = %s ORDER BY height LIMIT 1
"""
_BYTES = "SELECT COALESCE(SUM(LENGTH(raw)), 0) FROM network_app_fetchedblock WHERE chain = %s"
_FORGET = "DELETE FROM network_app_fetchedblock WHERE chain = %s"


def keep(alias: str, blocks: Sequence[ParsedBlock]) -> None:
    """Store blocks; one that was stored at the same height before is overwritten."""
    bulk.upsert(
        FetchedBlock,
        _COLUMNS,
        (
            (outer_id(alias, one.height), alias, one.height, one.block_id, one.parent_id, one.raw)
            for one in blocks
        ),
    )


def above(alias: str, height: int, count: int) -> list[bytes]:
    """Return blocks above a height, lowest first, as long as each follows the one before."""
    found: list[bytes] = []
    last: tuple[int, bytes] | None = None
    for number, block_id, parent_id, raw in sql.rows(_ABOVE, (alias, height, count)):
        if last is not None and (number != last[0] + 1 or bytes(parent_id) != last[1]):
            break
        found.append(bytes(raw))
        last = number, bytes(block_id)
    return found


def lowest(alias: str) -> tuple[BlockPlace, ID] | None:
    """Return the lowest block and its parent."""
    row = sql.row(_LOWEST, (alias,))
    if row is None:
        return None
    height, block_id, parent_id = row
    return BlockPlace(height, ID(bytes(block_id))), ID(bytes(parent_id))


def size(alias: str) -> int:
    """Return how many bytes the blocks have together."""
    row = sql.row(_BYTES, (alias,))
    return 0 if row is None else int(row[0])


def forget(alias: str, up_to: int | None) -> None:
    """Delete the blocks up to a height, or all."""
    if up_to is None:
        sql.execute(_FORGET, (alias,))
    else:
        sql.execute(f"{_FORGET} AND height <= %s", (alias, up_to))
