"""Reasons why this node does not save or restore a snapshot."""

from enum import StrEnum


class NodeSnapshotReason(StrEnum):
    """Why this node does not save or restore a snapshot; those of the file or its name are a `SnapshotReason`."""

    SNAPSHOTS_NOT_AVAILABLE = (
        "snapshots are for a local network; this node is on network {network_id}"
    )
    # Other nodes have the chain too, or decide on it.
    NOT_ALONE = "development methods need a chain of this node alone: {others}"
    NO_CHAIN = "this node has no chain yet: start it once"
    # The snapshot is of a chain with another beginning.
    OTHER_CHAIN = (
        "the snapshot {name} is of another chain: its {what} is {saved}, here it is {here}"
    )
    OTHER_MIGRATIONS = (
        "the snapshot {name} was made by another version of the node, whose tables are others: "
        "they differ by the migration {migration}"
    )
