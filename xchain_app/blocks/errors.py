"""Reasons for rejecting a block, with the reference's messages (xchain.md 11)."""

from enum import StrEnum

from chainvm.errors import InvalidBlock, NotYetValid, UnknownParent
from primitives.ids import ID
from primitives.reasons import ErrorWithReason


class AvmBlockReason(StrEnum):
    """Why a block of the X-Chain cannot be accepted; `cause` is the error of its bytes or its transaction."""

    UNREADABLE_BLOCK = "failed to parse block: {cause}"
    UNEXPECTED_ROOT = "unexpected merkle root: {root}"
    TIME_TOO_FAR_AHEAD = (
        "proposed timestamp is too far in the future relative to local time, "
        "proposed time ({time}), local time ({now})"
    )
    NO_TXS = "block contains no transactions"
    MALFORMED_TX = "failed to syntactically verify tx {tx_id}: {cause}"
    WRONG_HEIGHT = "block has incorrect height: expected height {expected}, got {got}"
    TIME_BEFORE_CHAIN = (
        "proposed timestamp before current chain time: "
        "proposed timestamp ({time}), chain time ({chain_time})"
    )
    REFUSED_TX = "failed to semantically verify tx {tx_id}: {cause}"
    CONFLICTING_TXS = "block contains conflicting transactions"  # both import the same output
    CONFLICT_WITH_ANCESTOR = (
        "failed to verify unique inputs on state at {parent_id}: "
        "block contains a transaction that conflicts with a transaction in a parent block"
    )


class InvalidAvmBlock(ErrorWithReason, InvalidBlock):
    """A block of the X-Chain that cannot be accepted, except for its parent (`UnknownParent`)."""


class AvmBlockTooEarly(InvalidAvmBlock, NotYetValid):
    """A block that is invalid now and may become valid.

    It imports an output whose export this node has not executed yet, or spends an output whose locktime has passed only by
    the clock of the node that built the block.
    """


def unknown_parent(block_id: ID, parent_id: ID) -> UnknownParent:
    """Return the error for a block whose parent is neither processing nor the last accepted block."""
    return UnknownParent(block_id, parent_id, f"failed to get parent {parent_id}: not found")
