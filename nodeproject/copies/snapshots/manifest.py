"""The manifest of a snapshot: its time, its chains, and the migrations of its tables."""

from typing import Final

import msgspec

FORMAT: Final = 1


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
