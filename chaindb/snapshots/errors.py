"""Reasons why a named snapshot is refused because of its name or the database.

SnapshotRefused
├── BadName            the name is too long or has invalid characters
├── NameTaken          a snapshot of that name exists
├── NoSuchSnapshot     no snapshot of that name exists
├── OtherTables        it has other tables or columns than the database
├── UnreadableSnapshot its contents cannot be read
└── NotPermitted       the database user may not store snapshots
"""


class SnapshotRefused(Exception):
    """A snapshot is not saved, restored or deleted; the subclass is the reason."""


class BadName(SnapshotRefused):
    """The name is not valid for a snapshot."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name[:80]!r} is not a valid snapshot name: use 1 to 40 of a-z, 0-9, - and _"
        )
        self.name = name


class NameTaken(SnapshotRefused):
    """A snapshot of the name exists already."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is a snapshot {name} already: --replace overwrites it")
        self.name = name


class NoSuchSnapshot(SnapshotRefused):
    """No snapshot of the name exists."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no snapshot {name}")
        self.name = name


class SnapshotTablesDiffer(SnapshotRefused):
    """A table of the database is missing in the snapshot, or has other columns there."""

    def __init__(self, name: str, table: str) -> None:
        super().__init__(
            f"the snapshot {name} has no table {table} with the columns that this database has"
        )
        self.name = name
        self.table = table


class UnreadableSnapshot(SnapshotRefused):
    """The data stored under the name is not a snapshot, or is damaged."""

    def __init__(self, name: str, reason: object) -> None:
        super().__init__(f"the snapshot {name} cannot be read: {reason}")
        self.name = name


class NotPermitted(SnapshotRefused):
    """The database user may not create schemas."""

    def __init__(self, reason: object) -> None:
        super().__init__(
            "the node's user of PostgreSQL may not make schemas, in which snapshots are kept "
            f"(GRANT CREATE ON DATABASE … TO …): {reason}"
        )
