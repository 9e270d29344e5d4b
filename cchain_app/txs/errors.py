"""Reasons why bytes are not a transaction of this chain, with go-ethereum's messages.

The pool has further reasons to refuse a transaction, which are in `pool.errors`.
"""

from enum import StrEnum

from primitives.reasons import ErrorWithReason


class TransactionReason(StrEnum):
    """Why bytes are not a transaction of this chain."""

    TOO_SHORT = "typed transaction too short"
    TYPE_NOT_SUPPORTED = "transaction type not supported"
    # valid on Ethereum, but not here
    BLOBS_NOT_SUPPORTED = "transaction type not supported: tx type 3 not supported by this pool"
    # not the canonical RLP of its type; the cause is the `RlpError`
    MALFORMED = "rlp: {problem}"
    WRONG_CHAIN_ID = "invalid sender: invalid chain id for signer: have {have} want {want}"
    # out of range; this includes s above half the order
    SIGNATURE_VALUES = "invalid sender: invalid transaction v, r, s values"
    # values within their ranges for which there is no public key
    SENDER_NOT_RECOVERABLE = "invalid sender: recovery failed"


class InvalidTransaction(ErrorWithReason):
    """Bytes that can never be a transaction of this chain."""
