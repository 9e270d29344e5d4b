"""What is written down with a snapshot: when it was made, of which chains, and by which tables."""

from typing import Final

import msgspec

FORMAT: Final = 1


class Head(msgspec.Struct, frozen=True):
    """Where a chain stood."""

    height: int
    id: str
    """The last block's hash (0x…) or ID, as the chain's RPC has it."""
    time: int
    """Of the last block, or the P-Chain's time; Unix seconds."""
    genesis: str
    """The hash of the genesis block, or of the genesis bytes."""


class Manifest(msgspec.Struct, frozen=True):
    """All that is known of a snapshot without a look at its rows."""

    name: str
    saved_at: int
    """Wall time, Unix seconds."""
    network_id: int
    chain_id: int | None
    """The C-Chain's; None where this node does not take part in it."""
    pchain: Head
    cchain: Head | None
    clock_offset: int
    """Seconds by which the node's clock was ahead of the wall's."""
    migrations: tuple[str, ...]
    """Of the tables that are in it: app.name, in order."""
    format: int = FORMAT

    def to_text(self) -> str:
        """Return it as JSON."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def of_text(cls, text: str) -> "Manifest":
        """Read what `to_text` has written.

        Raises:
            msgspec.DecodeError: It is something else.
        """
        return msgspec.json.decode(text, type=cls)
