"""The interface for copies of a database, for either kind of database."""

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

from chaindb.snapshots.errors import SnapshotReason, SnapshotRefused

_NAME: Final = re.compile(r"[a-z0-9_-]{1,40}")


class StoredCopy(NamedTuple):
    """A stored copy."""

    name: str
    description: str
    """Description that was stored with it."""
    size: int
    """Size in bytes."""


class Copies(Protocol):
    """The named copies of one database. Methods block: call them in threads, outside transactions."""

    def names(self) -> list[str]:
        """Return the names of all copies, sorted."""

    def read(self, name: str) -> StoredCopy:
        """Return name, description and size of a copy.

        Raises:
            SnapshotRefused: No copy of the name exists.
            UnreadableSnapshot: The stored data is not a copy.
        """

    def save(
        self, name: str, tables: Sequence[str], describe: Callable[[], str], *, replace: bool
    ) -> None:
        """Copy the database as of one moment, completely or not at all, while others write to it.

        Args:
            name: Name of the copy.
            tables: Tables that the copy must contain.
            describe: Is called once, with the database as of that moment; its result is stored with the
                copy.
            replace: Whether to replace a copy of the same name.

        Raises:
            SnapshotRefused: A copy of the name exists, or the database user may not store copies.
        """

    def restore(self, name: str, tables: Sequence[str], also: Callable[[], object]) -> None:
        """Replace the rows of the database by those of a copy, in one transaction.

        Readers see all old rows or all new rows; writers wait.

        Args:
            name: Name of the copy.
            tables: Tables to restore.
            also: Is called in the transaction before the first row changes. An exception undoes everything.

        Raises:
            SnapshotRefused: No copy of the name exists.
            OtherTables: The copy lacks one of the tables, or one of their columns.
            UnreadableSnapshot: The copy is damaged.
        """

    def delete(self, name: str) -> None:
        """Delete a copy.

        Raises:
            SnapshotRefused: No copy of the name exists.
        """


def is_name(text: str) -> bool:
    """Return whether a text is valid as the name of a copy."""
    return _NAME.fullmatch(text) is not None


def verified(name: str) -> str:
    """Return a name if it is valid for a copy.

    Raises:
        SnapshotRefused: The name is not valid.
    """
    if not is_name(name):
        raise SnapshotRefused(SnapshotReason.BAD_NAME, name=name[:80])
    return name
