"""Errors of the development methods.

DevelopmentError                    for a reason of `DevelopmentReason`
├── InvalidDevelopmentRequest       a parameter is wrong
├── NoBalanceSlot                   no slot of a token holds the value that it returns for an account
└── AlreadyMined                    a transaction that is in a block cannot be dropped
"""

from enum import StrEnum

from primitives.reasons import ErrorWithReason


class DevelopmentReason(StrEnum):
    """Why a development request cannot be fulfilled."""

    HAS_PEERS = "development methods need a chain of this node alone"
    TOO_MANY_SIGNATURES = "at most {most} signatures can be impersonated; anvil_reset forgets them"
    # The chain ID cannot change: blocks and pending transactions are signed for the current one.
    CHAIN_HAS_BLOCKS = (
        "the chain ID can only be changed before the first block; the head is block {height}"
    )
    TRANSACTIONS_WAIT = (
        "the chain ID can only be changed while the pool is empty; it has {count} transactions: "
        "anvil_dropAllTransactions drops them"
    )
    FORK_HAS_CHAIN_ID = (
        "the chain ID of a fork cannot be changed, {chain_id} here; NODE_FORK_CHAIN_ID or --fork-chain-id sets that of "
        "a new fork"
    )

    MOVED_COINS = "block {block} moved coins from or to another chain, which cannot be undone: the other chain keeps its blocks"

    # Invalid parameters.
    TIME_BEFORE_HEAD = "Timestamp error: {time} is lower than previous block's timestamp {head}"
    # The clock would show a year that responses cannot express.
    TIME_TOO_LATE = "{problem}"
    DEPTH_TOO_LARGE = (
        "{what} depth must not exceed current chain height: current height {height}, depth {depth}"
    )
    REORG_BLOCK_TOO_HIGH = (
        "Block number for reorg tx will exceed the reorged chain height. "
        "Block number {block} must not exceed (depth-1) {last}"
    )
    DUMP_NOT_READABLE = "Failed to decode state dump: {problem}"

    NO_BALANCE_SLOT = "Unable to set ERC20 {what}, no slot found"
    ALREADY_MINED = "Transaction 0x{transaction} cannot be dropped because it's already mined"


class DevelopmentError(ErrorWithReason):
    """A development request that cannot be fulfilled; tools show the message to their users."""


class InvalidDevelopmentRequest(DevelopmentError):
    """A parameter of a development request is wrong."""


class NoBalanceSlot(DevelopmentError):
    """The token's return value depends on none of the slots that it reads."""


class AlreadyMined(DevelopmentError):
    """The transaction is in a block."""
