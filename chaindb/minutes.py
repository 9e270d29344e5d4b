"""Sums over the blocks of each of the last minutes, computed from the latest rows only."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from chaindb.database import Database

WINDOW: Final = 30
"""Minutes that are summed."""
MAX_BLOCKS: Final = 2_000
"""Rows that are read at most: a chain may produce more in a minute than a page should read."""

_SUMS: Final = """
SELECT CASE WHEN age < 0 THEN 0 WHEN age < {seconds} THEN age / 60 ELSE {window} END AS minute,
       COUNT(*), {sums}
FROM (SELECT %s - {time} AS age, {columns} FROM {table} ORDER BY {key} DESC LIMIT {most}) AS latest
GROUP BY 1
"""


class Blocks(NamedTuple):
    """Table and columns of the blocks of a chain."""

    table: str
    height: str
    """Column of the height, by which the rows are sorted."""
    time: str
    """Column of the timestamp in Unix seconds."""
    columns: Sequence[str]
    """Columns to sum."""


def per_minute(db: Database, blocks: Blocks, now: int) -> list[tuple[int, ...]]:
    """Return for each of the last minutes, oldest first, the number of blocks and their column sums.

    The last minute ends now. There are `WINDOW` minutes; fewer, possibly none, if the latest
    `MAX_BLOCKS` blocks do not reach back that far, because older minutes would be incomplete.

    Args:
        db: The database of the blocks.
        blocks: Table and columns to read.
        now: Unix seconds. A block with a later timestamp counts as produced now.
    """
    sql = _SUMS.format(
        seconds=60 * WINDOW,
        window=WINDOW,
        time=blocks.time,
        columns=", ".join(blocks.columns),
        sums=", ".join(f"SUM({column})" for column in blocks.columns),
        table=blocks.table,
        key=blocks.height,
        most=MAX_BLOCKS,
    )
    sums_by_minute = {int(minute): tuple(map(int, sums)) for minute, *sums in db.rows(sql, (now,))}
    looked_at = sum(sums[0] for sums in sums_by_minute.values())
    minutes = WINDOW
    if looked_at >= MAX_BLOCKS and WINDOW not in sums_by_minute:
        minutes = max(sums_by_minute)  # the older part of this minute may not have been read
    nothing = (0,) * (1 + len(blocks.columns))
    return [sums_by_minute.get(minute, nothing) for minute in reversed(range(minutes))]
