"""Trie nodes in a temporary private file, for building a trie that may be larger than memory."""

import os
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

_AT_ONCE = 500
"""Number of keys in one statement."""


class ScratchUnusable(Exception):
    """The file cannot be written or read."""

    def __init__(self, directory: Path, reason: object) -> None:
        super().__init__(f"a file in {directory} cannot be written or read ({reason})")
        self.directory = directory


class ScratchNodes:
    """Nodes by their keys (a `NodeReader`); see `scratch_nodes`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("CREATE TABLE nodes (key BLOB PRIMARY KEY, rlp BLOB) WITHOUT ROWID")

    def nodes(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the nodes with these keys, in the same order; None for those that do not exist."""
        found: dict[bytes, bytes] = {}
        for start in range(0, len(keys), _AT_ONCE):
            part = keys[start : start + _AT_ONCE]
            marks = ", ".join("?" * len(part))
            statement = f"SELECT key, rlp FROM nodes WHERE key IN ({marks})"  # noqa: S608  # marks alone
            found.update(self._connection.execute(statement, part))
        return [found.get(key) for key in keys]

    def write(self, nodes: Mapping[bytes, bytes | None]) -> None:
        """Write new and changed nodes, and delete those that are None."""
        there = [(key, rlp) for key, rlp in nodes.items() if rlp is not None]
        self._connection.executemany("INSERT OR REPLACE INTO nodes VALUES (?, ?)", there)
        gone = [(key,) for key, rlp in nodes.items() if rlp is None]
        self._connection.executemany("DELETE FROM nodes WHERE key = ?", gone)

    def in_order(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield all nodes with their keys, ordered by key."""
        yield from self._connection.execute("SELECT key, rlp FROM nodes ORDER BY key")


@contextmanager
def scratch_nodes(directory: Path) -> Iterator[ScratchNodes]:
    """Yield an empty store of nodes in a file that disappears with the process, however it ends.

    Args:
        directory: A directory with enough space.

    Raises:
        ScratchUnusable: The file cannot be written or read.
        OSError: It cannot be created.
    """
    descriptor, name = tempfile.mkstemp(prefix=".trie-", dir=directory)
    os.close(descriptor)
    try:
        with closing(sqlite3.connect(name, isolation_level=None)) as connection:
            nodes = ScratchNodes(connection)
            Path(name).unlink()  # the file stays open without a name
            yield nodes
    except sqlite3.Error as error:
        raise ScratchUnusable(directory, error) from error
    finally:
        Path(name).unlink(missing_ok=True)
