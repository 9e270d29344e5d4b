"""Errors of a chain's blocks that consensus, the network and the chains share.

InvalidBlock            the block breaks a rule; chains, engines and the proposer VM derive their reasons from it
├── UnknownParent       its parent is neither processing nor the last accepted block
└── NotYetValid         it imports from another chain an output that this node does not know yet

NotProcessing, DuplicateBlock   the tree of processing blocks refuses an operation
"""

from typing import Self

from primitives.ids import ID


class InvalidBlock(Exception):
    """A block that its chain rejects; the message names the rule that it breaks."""

    block_id: ID | None = None
    """The block, where the caller has verified several."""
    height: int | None = None
    """Its height; likewise."""

    def of(self, block_id: ID, height: int) -> Self:
        """Record which block is rejected, and return this exception."""
        self.block_id, self.height = block_id, height
        return self


class UnknownParent(InvalidBlock):
    """The block's parent is neither processing nor the last accepted block.

    Args:
        block_id: The block.
        parent_id: The parent that it names.
        reason: The chain's own message; by default a message with both IDs.
    """

    def __init__(self, block_id: ID, parent_id: ID, reason: str | None = None) -> None:
        super().__init__(
            reason or f"block {block_id}: its parent {parent_id} is not here, or decided long ago"
        )
        self.block_id = block_id
        self.parent_id = parent_id


class DuplicateBlock(Exception):
    """The block is already processing."""

    def __init__(self, block_id: ID) -> None:
        super().__init__(f"block {block_id}: is processing already")
        self.block_id = block_id


class NotYetValid(InvalidBlock):
    """The block is invalid now and may become valid: other nodes may know more of other chains than this node."""


class NotProcessing(Exception):
    """The block is not processing, or does not follow the last accepted one."""

    def __init__(self, block_id: ID, reason: str = "is not processing") -> None:
        super().__init__(f"block {block_id}: {reason}")
        self.block_id = block_id
