"""Reasons for which a use case fails that are not rules of the chain."""

from enum import StrEnum

from primitives.reasons import ErrorWithReason


class IssueReason(StrEnum):
    """Why the mempool does not accept a transaction, with the reference's messages (pchain.md 5.6)."""

    TOO_LARGE = "tx too large: {tx_id} size ({size}) > max size ({largest})"
    MEMPOOL_FULL = "mempool is full: {tx_id} size ({size}) > available space ({room})"
    CONFLICTING_TX = "tx conflicts with other tx: {tx_id}"
    MESSAGE_NOT_VERIFIED = "failed verifying warp messages: {cause}"
    NOT_SYNCED = "chain not synced"
    # No chain of this node could import the coins, so they would be lost.
    NOTHING_IMPORTS = "this node runs no X-Chain (NODE_CHAINS), so the coins that {tx_id} exports could not be imported"


class RefusedIssue(ErrorWithReason):
    """A transaction that the mempool does not accept at the moment."""


class TransactionTooLarge(RefusedIssue):
    """A transaction that is too large."""


class MempoolFull(RefusedIssue):
    """A mempool without space for the transaction."""


class ConflictingTx(RefusedIssue):
    """A transaction that spends the same output as another pending one."""


class GenesisMismatchReason(StrEnum):
    """How the stored chain differs from the chain in the settings."""

    DATABASE_OF_OTHER_NETWORK = (
        "the database holds the P-Chain of network {stored}, or one with other parameters, not "
        "network {wanted}: choose another NODE_DATA_DIR or another database"
    )
    OTHER_GENESIS = (
        "the P-Chain in the database began with genesis {stored}, not with {wanted}: choose "
        "another NODE_DATA_DIR or another database"
    )
    FILE_OF_OTHER_NETWORK = (
        "networkID {wanted} specified but genesis config contains networkID {in_file}: choose "
        "another NODE_PLATFORM_GENESIS or NODE_NETWORK_ID"
    )


class GenesisMismatch(ErrorWithReason):
    """The stored chain differs from the chain in the settings."""


class TimeTravelReason(StrEnum):
    """Why the clock cannot be moved."""

    PUBLIC_NETWORK = (
        "only the clock of a local network can be moved, not that of network {network_id}"
    )
    PRODUCED_ELSEWHERE = (
        "another node produces the blocks of this network: move the clock of that node; the clock of this node "
        "follows it"
    )
    DECIDED_BY_VOTES = (
        "the validators vote on the blocks of this network (NODE_CONSENSUS), so their clocks have to agree: the clock "
        "can be moved only if one node produces all blocks"
    )


class ClockNotMovable(ErrorWithReason):
    """A clock that cannot be moved, or not by this node."""


class AggregationReason(StrEnum):
    """Why the signatures of a message could not be aggregated."""

    NOT_SIGNED = "{cause}"  # the words of `executor.signing`
    NO_VALIDATORS = "subnet {subnet_id} has no validators"
    UNKNOWN_HEIGHT = "{cause}"
    TOO_FEW = "failed to collect a threshold of signatures: {cause}"
    BUSY = "too many calls wait for signatures already"


class NotAggregated(ErrorWithReason):
    """A message whose signatures could not be aggregated."""
