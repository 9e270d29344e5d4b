"""Reasons why this node does not save or restore a snapshot; those of the file or its name are in `chaindb.snapshots`.

SnapshotRefused
├── NotLocal           the network is not a local one
├── NotAlone           other nodes have the chain, too
├── NoChain            there is no chain yet
├── OtherChain         it is of another network, genesis or chain ID
└── OtherMigrations    its tables were created by other migrations
"""

from chaindb.snapshots.errors import SnapshotRefused


class SnapshotsNotAvailable(SnapshotRefused):
    """The network is not the local one."""

    def __init__(self, network_id: int) -> None:
        super().__init__(f"snapshots are for a local network; this node is on network {network_id}")
        self.network_id = network_id


class NotAlone(SnapshotRefused):
    """Other nodes have the chain too, or decide on it."""

    def __init__(self, others: str) -> None:
        super().__init__(f"development methods need a chain of this node alone: {others}")
        self.others = others


class NoChain(SnapshotRefused):
    """The database holds no chain yet."""

    def __init__(self) -> None:
        super().__init__("this node has no chain yet: start it once")


class OtherChain(SnapshotRefused):
    """The snapshot is of a chain with another beginning."""

    def __init__(self, name: str, what: str, saved: object, here: object) -> None:
        super().__init__(
            f"the snapshot {name} is of another chain: its {what} is {saved}, here it is {here}"
        )
        self.name = name
        self.what = what
        self.saved = saved
        self.here = here


class OtherMigrations(SnapshotRefused):
    """The snapshot was created by another version of the node."""

    def __init__(self, name: str, migration: str) -> None:
        super().__init__(
            f"the snapshot {name} was made by another version of the node, whose tables are others: "
            f"they differ by the migration {migration}"
        )
        self.name = name
        self.migration = migration
