"""A chain that tests change and take back: snapshots, blocks, clock and balances, by the development methods."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nunatak.node import Node


class SnapshotLost(Exception):
    """The chain cannot go back: the snapshot was reverted to, or one before it, already."""


class Chain:
    """The C-Chain of a node for development. What has no method here is called by `rpc`."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def rpc(self, method: str, *params: object) -> Any:
        """Call a method and return its result. Raises RpcError, Unreachable."""
        return self._node.rpc(method, *params)

    def snapshot(self) -> str:
        """Take a snapshot of the chain; return its ID."""
        return str(self.rpc("evm_snapshot"))

    def revert(self, snapshot: str) -> None:
        """Go back to a snapshot, which ends it and all later ones.

        Raises:
            SnapshotLost: The node does not have it any more.
        """
        if not self.rpc("evm_revert", snapshot):
            raise SnapshotLost(f"the node does not have the snapshot {snapshot} any more")

    @contextmanager
    def isolated(self) -> Iterator["Chain"]:
        """Take back whatever happens inside of the `with` block. Raises SnapshotLost."""
        snapshot = self.snapshot()
        try:
            yield self
        finally:
            self.revert(snapshot)

    def mine(self, blocks: int = 1) -> None:
        """Make blocks, the first one of what waits in the pool."""
        self.rpc("anvil_mine", hex(blocks))

    def increase_time(self, seconds: int) -> None:
        """Move the clock forward; the next block shows it."""
        self.rpc("evm_increaseTime", hex(seconds))

    def set_balance(self, address: str, wei: int) -> None:
        """Let an account have so much."""
        self.rpc("anvil_setBalance", address, hex(wei))
