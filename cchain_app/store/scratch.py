"""Trie nodes in a file of their own that nobody else sees: a trie is built there that may be larger than memory."""

import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager

_AT_ONCE = 500
"""Keys in one statement."""


class ScratchNodes:
    """Nodes by their keys (a `NodeReader`); see `scratch_nodes`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("CREATE TABLE nodes (key BLOB PRIMARY KEY, rlp BLOB) WITHOUT ROWID")

    def nodes(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the nodes with these keys in their order, None for those that do not exist."""
        found: dict[bytes, bytes] = {}
        for start in range(0, len(keys), _AT_ONCE):
            part = keys[start : start + _AT_ONCE]
            marks = ", ".join("?" * len(part))
            statement = f"SELECT key, rlp FROM nodes WHERE key IN ({marks})"  # noqa: S608  # marks alone
            found.update(self._connection.execute(statement, part))
        return [found.get(key) for key in keys]

    def write(self, nodes: Mapping[bytes, bytes | None]) -> None:
        """Write nodes that are new or changed, and delete those that are None."""
        there = [(key, rlp) for key, rlp in nodes.items() if rlp is not None]
        self._connection.executemany("INSERT OR REPLACE INTO nodes VALUES (?, ?)", there)
        gone = [(key,) for key, rlp in nodes.items() if rlp is None]
        self._connection.executemany("DELETE FROM nodes WHERE key = ?", gone)

    def in_order(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield all nodes with their keys, in the order of these."""
        yield from self._connection.execute("SELECT key, rlp FROM nodes ORDER BY key")


@contextmanager
def scratch_nodes() -> Iterator[ScratchNodes]:
    """Give nodes, none at first, in a temporary file that goes with them."""
    with (
        tempfile.NamedTemporaryFile(prefix="trie-") as file,
        closing(sqlite3.connect(file.name, isolation_level=None)) as connection,
    ):
        yield ScratchNodes(connection)
