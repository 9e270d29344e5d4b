"""Errors of imported blocks and of chain files, in addition to `blocks.errors`."""

from enum import StrEnum

from cchain_app.blocks.errors import InvalidBlock
from primitives.reasons import ErrorWithReason


class ForeignBlockReason(StrEnum):
    """Why an imported block is invalid by a rule that only foreign chains have."""

    # too far from the parent's, or below the minimum
    GAS_LIMIT = "invalid gasLimit: have {have}, want {lowest} to {highest}"
    GAS_USED = "invalid gasUsed: have {have}, want at most the gasLimit {limit}"
    # EIP-7934
    SIZE = "block RLP-encoded size exceeds maximum: have {have}, want at most {limit}"
    TOO_MANY_BLOBS = "too many blobs: have {have}, want at most {limit}"
    # of a format that a later fork introduced
    TRANSACTION_TOO_EARLY = "transaction {index}: {form} before {fork}"
    TOO_MANY_UNCLES = "too many uncles: have {have}, want at most {limit}"
    # included by the block or by an ancestor
    UNCLE_INCLUDED = "uncle {uncle} is an ancestor, or there already"
    # its parent is not a recent ancestor, or it is the block's own parent
    UNCLE_NOT_RECENT = (
        "uncle {uncle}: its parent {parent} is none of the ancestors that it may have"
    )


class InvalidForeignBlock(ErrorWithReason, InvalidBlock):
    """An imported block that breaks a rule of its chain."""


class ChainFileReason(StrEnum):
    """Why a file cannot be imported."""

    TOO_LONG = "at byte {position}: a block of {size} bytes, at most {limit}"
    NO_BLOCK = "at byte {position}: no RLP of a block begins there"
    INCOMPLETE = "at byte {position}: the file ends within a block"
    # the chain has another block at this height
    BLOCK_DIFFERS = "block {number} is another one than the chain has: have {have}, want {want}"


class ChainFileError(ErrorWithReason):
    """A file that cannot be imported."""
