"""What copies of a database can do, whichever database it is."""

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

from chaindb.snapshots.errors import BadName

_NAME: Final = re.compile(r"[a-z0-9_-]{1,40}")


class Stored(NamedTuple):
    """A copy as it is kept."""

    name: str
    description: str
    """What was written down with it."""
    size: int
    """Bytes that it takes."""


class Copies(Protocol):
    """The named copies of one database. Blocking: for threads, outside of transactions."""

    def names(self) -> list[str]:
        """Return the names of all that are there, in order."""

    def read(self, name: str) -> Stored:
        """Return what is known of a copy.

        Raises:
            NoSuchSnapshot: There is none of the name.
            UnreadableSnapshot: What is there is none.
        """

    def save(
        self, name: str, tables: Sequence[str], describe: Callable[[], str], *, replace: bool
    ) -> None:
        """Copy the database as of one moment, while others write to it: wholly or not at all.

        Args:
            name: Of the copy.
            tables: What has to be in it.
            describe: Is called once, and sees the database as of that moment; what it returns is kept
                with the copy.
            replace: Whether a copy of the same name goes.

        Raises:
            NameTaken: There is one of the name.
            NotPermitted: The database's user may not keep any.
        """

    def restore(self, name: str, tables: Sequence[str], also: Callable[[], object]) -> None:
        """Put the rows of a copy in the place of the database's, in one transaction.

        Who reads meanwhile sees all rows as they were before, or all as they are after; who writes waits.

        Args:
            name: Of the copy.
            tables: Whose rows.
            also: Is called in the transaction, before the first row is touched; what it raises undoes all.

        Raises:
            NoSuchSnapshot: There is none of the name.
            OtherTables: It lacks one of the tables, or one of their columns.
            UnreadableSnapshot: It is damaged.
        """

    def delete(self, name: str) -> None:
        """Delete a copy.

        Raises:
            NoSuchSnapshot: There is none of the name.
        """


def is_name(text: str) -> bool:
    """Say whether a text can be a copy's name."""
    return _NAME.fullmatch(text) is not None


def verified(name: str) -> str:
    """Return a name if it can be a copy's.

    Raises:
        BadName: It cannot.
    """
    if not is_name(name):
        raise BadName(name)
    return name
