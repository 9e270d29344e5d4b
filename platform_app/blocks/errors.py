"""Reasons for rejecting a block, with the reference's messages (pchain.md 4)."""

from enum import StrEnum

from chainvm.errors import InvalidBlock, NotYetValid, UnknownParent
from primitives.ids import ID
from primitives.reasons import ErrorWithReason


class PlatformBlockReason(StrEnum):
    """Why a block of the P-Chain cannot be accepted; `cause` is the error of its bytes or its transaction."""

    UNREADABLE_BLOCK = "failed to parse block: {cause}"
    WRONG_HEIGHT = "incorrect block height expected {expected}, but found {got}"
    APRICOT_AFTER_FORK = "apricot block issued after fork: timestamp = {timestamp}"
    TIME_BEFORE_CHAIN = (
        "proposed timestamp before current chain time: "
        "proposed timestamp ({time}), chain time ({chain_time})"
    )
    TIME_TOO_FAR_AHEAD = (
        "proposed timestamp is too far in the future relative to local time, "
        "proposed time ({time}), local time ({now})"
    )
    TIME_AFTER_STAKER_CHANGE = (
        "proposed timestamp later than next staker change time, "
        "proposed timestamp ({time}), next staker change time ({change})"
    )
    NO_STATE_CHANGES = "BanffStandardBlock performs no state changes"
    CONFLICTING_TXS = "block contains conflicting transactions"  # both import the same output
    REFUSED_TX = "standard tx {tx_id} failed execution: {cause}"
    REFUSED_PROPOSAL = "proposal tx {tx_id} failed execution: {cause}"
    BROKEN_RULE = "{cause}"  # a rule for the whole block: gas, fees of L1 validators
    NO_PROPOSAL = "option blocks follow proposal blocks, and nothing else does"
    OPTION_TIME_DIFFERS = (
        "option block proposed timestamp not matching parent block one "
        "parent block timestamp ({proposal_time}) option block timestamp ({option_time})"
    )


class InvalidPlatformBlock(ErrorWithReason, InvalidBlock):
    """A block of the P-Chain that cannot be accepted, except for its parent (`UnknownParent`)."""


class PlatformBlockTooEarly(InvalidPlatformBlock, NotYetValid):
    """A block that imports an output whose export this node has not accepted yet."""


def unexpected_parent(block_id: ID, expected: ID, got: ID) -> UnknownParent:
    """Return the error for a block whose parent is not the expected one."""
    return UnknownParent(block_id, got, f"unexpected parent: expected {expected} but got {got}")
