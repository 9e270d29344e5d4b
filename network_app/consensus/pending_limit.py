"""Limits the blocks that wait for their parents, which the sender of such blocks need not have."""

from collections.abc import Callable
from typing import Any

from network_app.snowman.engine import SnowmanEngine
from primitives.ids import NodeID

MAX_PENDING = 1024
"""Number of blocks that may wait for their parents. If more are needed, bootstrapping is faster."""
MAX_PENDING_BYTES = 64 * 1024 * 1024
"""Total size of these blocks in bytes."""


class PendingBlocksLimit:
    """Decides whether another block may wait for its parent.

    Unspecified: the reference has no limit. Here a block beyond the limit is treated as a failed request,
    and then all blocks that wait for it are dropped.

    Args:
        is_validator: Whether a node is a validator, whose blocks are assumed to belong to the chain.
        on_full: Called when a validator's block exceeds the limit.
    """

    def __init__(self, is_validator: Callable[[NodeID], bool], on_full: Callable[[], None]) -> None:
        self._is_validator = is_validator
        self._on_full = on_full

    def is_left(self, engine: SnowmanEngine[Any], node_id: NodeID) -> bool:
        """Return whether a block of a node may be taken."""
        pending = engine.pending.values()
        if (
            len(pending) < MAX_PENDING
            and sum(len(block.raw) for block in pending) < MAX_PENDING_BYTES
        ):
            return True
        if self._is_validator(node_id):
            self._on_full()
        return False
