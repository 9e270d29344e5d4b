"""Errors of outer blocks: malformed bytes, or a block that may not follow its parent (p2p.md 11)."""

from enum import StrEnum

from chainvm.errors import InvalidBlock, NotYetValid
from primitives.ids import ID, NodeID
from primitives.reasons import ErrorWithReason


class OuterBlockReason(StrEnum):
    """A rule that an outer block breaks."""

    # Malformed bytes.
    OTHER_LAYOUT = "{cause}"
    UNEXPECTED_SIGNATURE = "signature provided when none was expected"
    MISSING_SIGNATURE = "no signature provided when one was expected"
    # The block lacks its last field, the signature, whose length is present even if it is empty. A block's ID is the
    # hash of these bytes, so anyone can derive them from any block. They hash to the ID of the block, but do not prove
    # anything about it.
    CUT_OFF = "the signature's field is cut off"
    INVALID_CERTIFICATE = "invalid certificate: {cause}"
    ZERO_EPOCH = "epoch must not be zero"
    HEIGHT_TOO_LARGE = "height of more than 63 bits: {number}"
    # A block that may not follow this parent.
    WRONG_PARENT = "outer parentID {actual} didn't match expected parent {expected}"
    WRONG_INNER_PARENT = "inner parentID {actual} didn't match expected parent {expected}"
    WRONG_INNER_HEIGHT = "block height {actual} didn't match expected height {expected}"
    OPTION_EXPECTED = "unexpected proposer block type: expected an option of the proposal"
    NOT_AN_OPTION = "the inner block is no option of the proposal"
    PROPOSAL_EXPECTED = "unexpected proposer block type: the parent is no proposal"
    SIGNED_TOO_EARLY = "child of a bare block is signed by {proposer}"
    TIME_DECREASED = "time must monotonically increase: {time} < {parent_time}"
    HEIGHT_DECREASED = "non monotonically increasing P-chain height: {height} < {parent_height}"
    WRONG_EPOCH = "epoch mismatch: {actual} != expected {expected}"
    WINDOW_NOT_STARTED = "proposer window hasn't started: delay {delay} s < {minimum} s"
    UNEXPECTED_PROPOSER = "unexpected proposer for current window: slot {slot} expects {expected}"
    PROPOSER_MISMATCH = "proposer mismatch: the block should be {expected}"
    WRONG_SIGNATURE = "invalid signature of {proposer}"
    # Of `OuterBlockTooEarly`.
    TIME_TOO_ADVANCED = "time is too far advanced: {time} > {latest}"
    HEIGHT_NOT_REACHED = (
        "block P-chain height larger than current P-chain height: {height} > {current}"
    )


class OuterBlockError(ErrorWithReason, InvalidBlock):
    """Bytes that are not an outer block, or an outer block that may not follow its parent."""


class NotAnOuterBlock(OuterBlockError):
    """Bytes of another layout; before the first outer block, they are a bare block."""


class OuterBlockTooEarly(OuterBlockError, NotYetValid):
    """Verification depends on data that this node does not have yet; the block may become valid later."""


class NotOurSlot(Exception):
    """No block is built now: the slot belongs to another validator."""

    def __init__(self, slot: int, owner: NodeID) -> None:
        super().__init__(f"slot {slot} belongs to {owner}")
        self.slot = slot
        self.owner = owner


class NotWrapped(Exception):
    """The chain has accepted a block whose outer block is not stored."""

    def __init__(self, inner_id: ID) -> None:
        super().__init__(f"the accepted block {inner_id} has no outer block")
        self.inner_id = inner_id
