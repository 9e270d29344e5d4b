"""The manifest of a snapshot (its time, its chains with their heads, and the migrations of its tables), and reasons for refusals."""

from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

from cchain_app.store import chain as cchain_rows
from chaindb.database import Database
from platform_app.store import blocks as platform_rows


class NodeSnapshotReason(StrEnum):
    """Why this node does not save or restore a snapshot; those of the file or its name are a `SnapshotReason`."""

    SNAPSHOTS_NOT_AVAILABLE = (
        "snapshots are for a local network; this node is on network {network_id}"
    )
    # Other nodes have the chain too, or decide on it.
    NOT_ALONE = "development methods need a chain of this node alone: {others}"
    NO_CHAIN = "this node has no chain yet: start it once"
    # The P-Chain would go back, and they would not.
    WITHOUT_SUBNET_CHAINS = "the snapshot {name} was saved by an earlier version, without chains of subnets, and this node has {chains}"
    # A killed process has restored some of the databases only.
    UNFINISHED = "the snapshot {name} was not restored to the end: restore it again, or another one, or restart the node"
    # The snapshot is of a chain with another beginning.
    OTHER_CHAIN = (
        "the snapshot {name} belongs to another chain: its {what} is {saved}, here it is {here}"
    )
    OTHER_MIGRATIONS = (
        "the snapshot {name} was made by another version of the node, whose tables "
        "differ by the migration {migration}"
    )


FORMAT: Final = 2
"""Format 1 had no chains of subnets."""


class Head(msgspec.Struct, frozen=True):
    """The head of a chain."""

    height: int
    id: str
    """The last block's hash (0x…) or ID, in the format of the chain's RPC."""
    time: int
    """Time of the last block, or the P-Chain's time; Unix seconds."""
    genesis: str
    """The hash of the genesis block, or of the genesis bytes."""


class SnapshotManifest(msgspec.Struct, frozen=True):
    """All data of a snapshot that can be read without its rows."""

    name: str
    saved_at: int
    """Wall time, Unix seconds."""
    network_id: int
    chain_id: int | None
    """The C-Chain's chain ID; None if this node does not take part in the C-Chain."""
    pchain: Head
    cchain: Head | None
    clock_offset: int
    """Seconds by which the node's clock was ahead of wall time."""
    migrations: tuple[str, ...]
    """The migrations of the tables in the snapshot: app.name, in order."""
    format: int = FORMAT
    chains: dict[str, Head] = {}
    """The chains of subnets by blockchain ID."""

    def to_text(self) -> str:
        """Return the manifest as JSON."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def of_text(cls, text: str) -> "SnapshotManifest":
        """Parse the output of `to_text`.

        Raises:
            msgspec.DecodeError: The text is not a manifest.
        """
        return msgspec.json.decode(text, type=cls)


class Heads(NamedTuple):
    """The heads of both chains, with the chains' IDs."""

    network_id: int
    chain_id: int | None
    """The C-Chain's initial chain ID; None without a C-Chain."""
    pchain: Head
    cchain: Head | None


def heads_of(db: Database) -> Heads | None:
    """Return the heads as seen by this thread's transaction; None if there is no chain."""
    found = platform_rows.read(db)
    if found is None:
        return None
    network, tip = found
    return Heads(
        network_id=network.network_id,
        chain_id=cchain_rows.first_chain_id(db),
        pchain=Head(tip.height, str(tip.block_id), tip.timestamp, str(network.genesis_hash)),
        cchain=evm_head(db),
    )


def evm_head(db: Database) -> Head | None:
    """Return the head of the EVM chain in a database, as seen by this thread's transaction; None if it has no block."""
    head, genesis = cchain_rows.head_id(db), cchain_rows.genesis_hash(db)
    if head is None or genesis is None:
        return None
    number, block_hash = head
    return Head(number, _hex(block_hash), cchain_rows.time_of(db, number), _hex(genesis))


def _hex(value: bytes) -> str:
    return f"0x{bytes(value).hex()}"
