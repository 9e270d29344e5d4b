"""A chain that tests change and restore: snapshots, blocks, clock and balances, through the development methods."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from nunatak.node import Node


class SnapshotLost(Exception):
    """The chain cannot be reverted: this snapshot, or an earlier one, has already been reverted to."""


class Chain:
    """The C-Chain of a development node. Methods that this class lacks are called with `rpc`."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def rpc(self, method: str, *params: object) -> Any:
        """Call a method and return its result. Raises RpcError, Unreachable."""
        return self._node.rpc(method, *params)

    def snapshot(self) -> str:
        """Take a snapshot of the chain; return its ID."""
        return str(self.rpc("evm_snapshot"))

    def revert(self, snapshot: str) -> None:
        """Revert the chain to a snapshot. This removes the snapshot and all later ones.

        Raises:
            SnapshotLost: The node no longer has the snapshot.
        """
        if not self.rpc("evm_revert", snapshot):
            raise SnapshotLost(f"the node does not have the snapshot {snapshot} any more")

    @contextmanager
    def isolated(self) -> Iterator["Chain"]:
        """Revert everything that happens inside the `with` block. Raises SnapshotLost."""
        snapshot = self.snapshot()
        try:
            yield self
        finally:
            self.revert(snapshot)

    def mine(self, blocks: int = 1) -> None:
        """Mine blocks; the first one contains the pending transactions."""
        self.rpc("anvil_mine", hex(blocks))

    def increase_time(self, seconds: int) -> None:
        """Move the clock forward; the next block has the new time."""
        self.rpc("evm_increaseTime", hex(seconds))

    def set_balance(self, address: str, wei: int) -> None:
        """Set the balance of an account."""
        self.rpc("anvil_setBalance", address, hex(wei))
