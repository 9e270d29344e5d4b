"""How many blocks may wait for their parents: whoever sends them need not have them."""

from collections.abc import Callable
from typing import Any

from network_app.snowman.engine import Engine
from primitives.ids import NodeID

MOST_PENDING = 1024
"""Blocks that may wait for their parents. Who needs more is so far behind that bootstrapping is faster."""
MOST_PENDING_BYTES = 64 * 1024 * 1024
"""The same in bytes."""


class Room:
    """Says whether there is room for one more block that has to wait.

    Unspecified: the reference bounds them by nothing. Here one that is too many counts as one that does not
    come, and then all that wait for it are let go.

    Args:
        is_validator: Whether what a node sends is believed to be of the chain.
        on_full: Called when a validator's block finds no room.
    """

    def __init__(self, is_validator: Callable[[NodeID], bool], on_full: Callable[[], None]) -> None:
        self._is_validator = is_validator
        self._on_full = on_full

    def is_left(self, engine: Engine[Any], node_id: NodeID) -> bool:
        """Say whether a block of a node may be taken."""
        pending = engine.pending.values()
        if (
            len(pending) < MOST_PENDING
            and sum(len(block.raw) for block in pending) < MOST_PENDING_BYTES
        ):
            return True
        if self._is_validator(node_id):
            self._on_full()
        return False
