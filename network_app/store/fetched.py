"""Blocks that were fetched during bootstrapping and are not executed yet."""

from collections.abc import Sequence

from chaindb.database import Database
from network_app.models import FetchedBlock
from network_app.ports import BlockRef, ParsedBlock
from primitives.ids import ID

_KEY = ("chain", "height")
_COLUMNS = ("chain", "height", "block_id", "parent_id", "raw")
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


def keep(db: Database, alias: str, blocks: Sequence[ParsedBlock]) -> None:
    """Store blocks, in the caller's transaction; a block stored at the same height is overwritten."""
    last = {block.height: block for block in blocks}
    db.delete(FetchedBlock, _KEY, ((alias, height) for height in last))
    rows = ((alias, item.height, item.block_id, item.parent_id, item.raw) for item in last.values())
    db.insert(FetchedBlock, _COLUMNS, rows)


def above(db: Database, alias: str, height: int, count: int) -> list[bytes]:
    """Return consecutive blocks above a height, lowest first; stop where the chain of parents breaks."""
    found: list[bytes] = []
    last: tuple[int, bytes] | None = None
    for number, block_id, parent_id, raw in db.rows(_ABOVE, (alias, height, count)):
        if last is not None and (number != last[0] + 1 or bytes(parent_id) != last[1]):
            break
        found.append(bytes(raw))
        last = number, bytes(block_id)
    return found


def lowest(db: Database, alias: str) -> tuple[BlockRef, ID] | None:
    """Return the lowest block and its parent's ID."""
    row = db.row(_LOWEST, (alias,))
    if row is None:
        return None
    height, block_id, parent_id = row
    return BlockRef(height, ID(bytes(block_id))), ID(bytes(parent_id))


def size(db: Database, alias: str) -> int:
    """Return the total size of the blocks in bytes."""
    row = db.row(_BYTES, (alias,))
    return 0 if row is None else int(row[0])


def forget(db: Database, alias: str, up_to: int | None) -> None:
    """Delete the blocks up to a height, or all if `up_to` is None."""
    if up_to is None:
        db.execute(_FORGET, (alias,))
    else:
        db.execute(f"{_FORGET} AND height <= %s", (alias, up_to))
