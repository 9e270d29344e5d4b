"""Why a named snapshot is refused. Here are the reasons that lie in its name, or in the database.

SnapshotRefused
├── BadName            the name has other characters, or too many
├── NameTaken          there is one of that name
├── NoSuchSnapshot     there is none
├── OtherTables        it has other tables or columns than the database
├── UnreadableSnapshot what is there cannot be read
└── NotPermitted       the database's user may not keep any
"""


class SnapshotRefused(Exception):
    """A snapshot is not saved, restored or deleted; a subclass says why."""


class BadName(SnapshotRefused):
    """The name is none for a snapshot."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name[:80]!r} is no name for a snapshot: 1 to 40 of a-z, 0-9, - and _ make one"
        )
        self.name = name


class NameTaken(SnapshotRefused):
    """There is a snapshot of the name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is a snapshot {name} already: --replace overwrites it")
        self.name = name


class NoSuchSnapshot(SnapshotRefused):
    """There is no snapshot of the name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no snapshot {name}")
        self.name = name


class OtherTables(SnapshotRefused):
    """A table of the database is not in the snapshot, or has other columns there."""

    def __init__(self, name: str, table: str) -> None:
        super().__init__(
            f"the snapshot {name} has no table {table} with the columns that this database has"
        )
        self.name = name
        self.table = table


class UnreadableSnapshot(SnapshotRefused):
    """What is kept under the name is no snapshot, or is damaged."""

    def __init__(self, name: str, reason: object) -> None:
        super().__init__(f"the snapshot {name} cannot be read: {reason}")
        self.name = name


class NotPermitted(SnapshotRefused):
    """The database's user may not make schemas."""

    def __init__(self, reason: object) -> None:
        super().__init__(
            "the node's user of PostgreSQL may not make schemas, in which snapshots are kept "
            f"(GRANT CREATE ON DATABASE … TO …): {reason}"
        )
