"""Reasons why a named snapshot is refused because of its name or the database."""

from enum import StrEnum

from primitives.reasons import ErrorWithReason


class SnapshotReason(StrEnum):
    """Why a snapshot is not saved, restored or deleted."""

    BAD_NAME = "{name!r} is not a valid snapshot name: use 1 to 40 of a-z, 0-9, - and _"
    NAME_TAKEN = "there is a snapshot {name} already: --replace overwrites it"
    NO_SUCH_SNAPSHOT = "there is no snapshot {name}"
    SNAPSHOT_TABLES_DIFFER = (
        "the snapshot {name} has no table {table} with the columns that this database has"
    )
    # The data stored under the name is not a snapshot, or is damaged.
    UNREADABLE_SNAPSHOT = "the snapshot {name} cannot be read: {cause}"
    # The database user may not create schemas.
    NOT_PERMITTED = (
        "the node's user of PostgreSQL may not make schemas, in which snapshots are kept "
        "(GRANT CREATE ON DATABASE … TO …): {cause}"
    )


class SnapshotRefused(ErrorWithReason):
    """A snapshot is not saved, restored or deleted."""


class UnreadableSnapshot(SnapshotRefused):
    """The data stored under the name is not a snapshot, or is damaged."""
