"""Reasons for which a use case fails that are not rules of the chain."""

from enum import StrEnum

from primitives.reasons import ErrorWithReason


class AvmIssueReason(StrEnum):
    """Why the mempool does not accept a transaction, with the reference's messages (xchain.md 13)."""

    TOO_LARGE = "tx too large: {tx_id} size ({size}) > max size ({largest})"
    MEMPOOL_FULL = "mempool is full: {tx_id} size ({size}) > available space ({room})"
    CONFLICTING_TX = "tx conflicts with other tx: {tx_id}"
    NOT_SYNCED = "chain not synced"
    REMEMBERED = "{cause}"  # the reason of an earlier refusal, since the last accepted block


class RefusedAvmTx(ErrorWithReason):
    """A transaction that the mempool does not accept."""


class AvmMempoolFull(RefusedAvmTx):
    """A mempool without space for the transaction."""
