"""Earlier nodes of the state trie, from which the trie of a past block is read.

Blocks are grouped into intervals. The first block of an interval that changes a node writes the node as it was when the
interval began. So the trie at the beginning of every interval is in the rows: a node is in its oldest row of this
interval or a later one; without such a row it is the current node. The trie of a block within an interval is that of the
next beginning with a few hundred changed accounts and slots undone (`selectors.tries`).

A node that many blocks change, such as the root, has one row for each interval, not one for each block. Rows
of intervals that NODE_PROOF_WINDOW no longer covers are deleted in the background (`services.pruning`).
"""

from collections.abc import Iterator, Sequence
from typing import Final

from cchain_app.evm.trie import ACCOUNT_TRIE
from chaindb.database import Database

INTERVAL: Final = 1_024
"""Changed accounts and slots after which the next block begins an interval. More of them make a proof slower, fewer make
the tables larger."""

_KEYS_AT_ONCE: Final = 400
"""Nodes that are read with one statement."""

_ABSENT: Final = b""
"""The row of a node that did not exist."""

_BEGIN: Final = """
INSERT INTO cchain_app_triehistory (id, number, changes, first) VALUES (1, %s, %s, 0)
ON CONFLICT (id) DO UPDATE SET
  number = CASE WHEN cchain_app_triehistory.changes >= %s
    THEN excluded.number ELSE cchain_app_triehistory.number END,
  changes = CASE WHEN cchain_app_triehistory.changes >= %s
    THEN excluded.changes ELSE cchain_app_triehistory.changes + excluded.changes END
"""

# Without a condition SQLite would parse ON CONFLICT as a join constraint.
_KEEP: Final = """
INSERT INTO cchain_app_trienodechange (key, number, rlp)
SELECT given.key, history.number,
  coalesce((SELECT node.rlp FROM cchain_app_trienode AS node WHERE node.key = given.key), {absent})
FROM {given}
CROSS JOIN cchain_app_triehistory AS history
WHERE history.id = 1
ON CONFLICT (key, number) DO NOTHING
"""
_KEEP_ON_POSTGRESQL: Final = _KEEP.format(
    absent="''::bytea", given="unnest(%s::bytea[]) AS given(key)"
)
_KEEP_ON_SQLITE: Final = "WITH given(key) AS (VALUES {keys})" + _KEEP.format(
    absent="x''", given="given"
)

_NEXT_BEGINNING: Final = """
SELECT root.number FROM cchain_app_triehistory AS history
JOIN cchain_app_trienodechange AS root ON root.key = %s AND root.number >= history.first
WHERE root.number >= %s ORDER BY root.number LIMIT 1
"""
# If rows of an interval are missing, the interval ends: the next block begins a new one.
_KEEP_FROM: Final = """
UPDATE cchain_app_triehistory SET first = %s, changes = CASE WHEN number < %s THEN %s ELSE changes END
WHERE first < %s
"""

_NODES: Final = """
WITH wanted(key) AS (VALUES {keys})
SELECT wanted.key, coalesce(
  (SELECT past.rlp FROM cchain_app_trienodechange AS past
   WHERE past.key = wanted.key AND past.number >= %s ORDER BY past.number LIMIT 1),
  (SELECT node.rlp FROM cchain_app_trienode AS node WHERE node.key = wanted.key))
FROM wanted
"""

# Keys increase with the number of the interval, so both begin at the end at which the rows are.
_FORGET_ABOVE: Final = """
DELETE FROM cchain_app_trienodechange WHERE id > coalesce(
  (SELECT id FROM cchain_app_trienodechange WHERE number <= %s ORDER BY id DESC LIMIT 1), 0)
"""
_DELETE_BEFORE: Final = """
DELETE FROM cchain_app_trienodechange WHERE number < %s AND id IN (
  SELECT id FROM cchain_app_trienodechange ORDER BY id LIMIT %s)
"""


def keep_nodes(db: Database, parent: int, changes: int, keys: Sequence[bytes]) -> None:
    """Write the current nodes with these keys, before blocks change them; those that the interval already has stay.

    Args:
        db: The chain's database.
        parent: Height of the block before those blocks.
        changes: Number of accounts and slots that those blocks change.
        keys: Keys of the nodes that they change, create or delete.
    """
    db.execute(_BEGIN, (parent, changes, INTERVAL, INTERVAL))
    if db.connection.vendor == "postgresql":
        db.execute(_KEEP_ON_POSTGRESQL, [list(keys)])
        return
    for part in _parts(keys):
        db.execute(_KEEP_ON_SQLITE.replace("{keys}", _placeholders(part)), part)


def forget_all(db: Database) -> None:
    """Delete all rows, because the next block writes none: older tries could no longer be read from them."""
    db.execute("DELETE FROM cchain_app_trienodechange")
    db.execute("DELETE FROM cchain_app_triehistory")


def forget_above(db: Database, number: int) -> None:
    """Delete the intervals that begin above a height, because a block there becomes the head again."""
    db.execute(_FORGET_ABOVE, (number,))
    db.execute(
        "UPDATE cchain_app_triehistory SET number = %s, changes = 0 WHERE number > %s",
        (number, number),
    )


def has_before(db: Database, number: int) -> bool:
    """Return whether there are intervals that begin below a height."""
    row = db.row("SELECT number FROM cchain_app_trienodechange ORDER BY id LIMIT 1")
    return row is not None and row[0] < number


def keep_from(db: Database, number: int) -> None:
    """Declare the intervals that begin below a height deleted; the caller holds the chain's lock."""
    db.execute(_KEEP_FROM, (number, number, INTERVAL, number))


def delete_before(db: Database, number: int, most: int) -> int:
    """Delete some rows of the intervals that begin below a height; return their number."""
    with db.connection.cursor() as cursor:
        cursor.execute(_DELETE_BEFORE, (number, most))
        return int(cursor.rowcount)


def next_beginning(db: Database, number: int) -> int | None:
    """Return the first height from `number` on whose trie the rows have; None: only the head's."""
    row = db.row(_NEXT_BEGINNING, (ACCOUNT_TRIE, number))
    return None if row is None else int(row[0])


class NodesAtBeginning:
    """Reads trie nodes at the beginning of an interval, many per statement (a `NodeReader`).

    Args:
        db: The chain's database.
        number: A height that `next_beginning` returned.
    """

    def __init__(self, db: Database, number: int) -> None:
        self._db = db
        self._number = number

    def nodes(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the nodes with these keys, in the same order; None for those that did not exist."""
        found: dict[bytes, bytes | None] = {}
        for part in _parts(keys):
            sql = _NODES.replace("{keys}", _placeholders(part))
            for key, rlp in self._db.rows(sql, (*part, self._number)):
                found[bytes(key)] = None if rlp is None or bytes(rlp) == _ABSENT else bytes(rlp)
        return [found[bytes(key)] for key in keys]


def _parts(keys: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    for start in range(0, len(keys), _KEYS_AT_ONCE):
        yield keys[start : start + _KEYS_AT_ONCE]


def _placeholders(keys: Sequence[bytes]) -> str:
    return ", ".join(["(%s)"] * len(keys))
