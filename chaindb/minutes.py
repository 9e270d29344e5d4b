"""How much the blocks of each of the last minutes hold, from the latest rows alone."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from chaindb.database import Database

WINDOW: Final = 30
"""Minutes that are looked at."""
MOST_BLOCKS: Final = 2_000
"""Rows that are looked at: a chain may make more in a minute than anybody wants to read for a page."""

_SUMS: Final = """
SELECT CASE WHEN age < 0 THEN 0 WHEN age < {seconds} THEN age / 60 ELSE {window} END AS minute,
       COUNT(*), {sums}
FROM (SELECT %s - {time} AS age, {columns} FROM {table} ORDER BY {key} DESC LIMIT {most}) AS latest
GROUP BY 1
"""


class Blocks(NamedTuple):
    """The blocks of a chain, as their table has them."""

    table: str
    height: str
    """The column of their heights, by which they are found."""
    time: str
    """That of their times in Unix seconds."""
    columns: Sequence[str]
    """What is summed."""


def per_minute(db: Database, blocks: Blocks, now: int) -> list[tuple[int, ...]]:
    """Return for each of the last minutes, the oldest first, its blocks and the sums of columns of theirs.

    The last one ends now. There are `WINDOW` of them; fewer, none at worst, where the latest `MOST_BLOCKS` blocks
    do not reach back so far: of an older minute nobody knows all.

    Args:
        db: Where the blocks are.
        blocks: Which they are.
        now: Unix seconds. A block that is ahead of that counts as made now.
    """
    sql = _SUMS.format(
        seconds=60 * WINDOW,
        window=WINDOW,
        time=blocks.time,
        columns=", ".join(blocks.columns),
        sums=", ".join(f"SUM({column})" for column in blocks.columns),
        table=blocks.table,
        key=blocks.height,
        most=MOST_BLOCKS,
    )
    found = {int(minute): tuple(map(int, sums)) for minute, *sums in db.rows(sql, (now,))}
    looked_at = sum(sums[0] for sums in found.values())
    known = WINDOW
    if looked_at >= MOST_BLOCKS and WINDOW not in found:
        known = max(found)  # its older part may lie beyond what was looked at
    nothing = (0,) * (1 + len(blocks.columns))
    return [found.get(minute, nothing) for minute in reversed(range(known))]
