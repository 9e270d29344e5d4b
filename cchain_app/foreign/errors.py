"""Errors of imported blocks and of chain files, in addition to `blocks.errors`.

InvalidBlock (`blocks.errors`)
├── GasLimitOutOfBounds     too far from the parent's gas limit
├── GasUsedAboveLimit
├── BlockAboveLimit         more bytes than a block may have (EIP-7934)
├── TooManyBlobs            more than the schedule allows in a block
├── TransactionTooEarly     of a format that a later fork introduced
└── WrongUncle
    ├── TooManyUncles
    ├── UncleTwice          an ancestor, or already included
    └── UncleOfStrangers    its parent is not a recent ancestor
ChainFileError
├── BrokenFile              not the RLP of blocks
└── BlockDiffers            the chain has another block at that height
"""

from cchain_app.blocks.errors import InvalidBlock
from primitives.evm import Hash
from primitives.hexadecimal import encode_data


class GasLimitOutOfBounds(InvalidBlock):
    """The gas limit is too far from the parent's, or below the minimum."""

    def __init__(self, have: int, lowest: int, highest: int) -> None:
        super().__init__(f"invalid gasLimit: have {have}, want {lowest} to {highest}")
        self.have = have
        self.lowest = lowest
        self.highest = highest


class GasUsedAboveLimit(InvalidBlock):
    """The block used more gas than its limit."""

    def __init__(self, have: int, limit: int) -> None:
        super().__init__(f"invalid gasUsed: have {have}, want at most the gasLimit {limit}")
        self.have = have
        self.limit = limit


class BlockAboveLimit(InvalidBlock):
    """The block has more bytes than allowed since Osaka."""

    def __init__(self, have: int, most: int) -> None:
        super().__init__(
            f"block RLP-encoded size exceeds maximum: have {have}, want at most {most}"
        )
        self.have = have
        self.most = most


class TooManyBlobs(InvalidBlock):
    """The block has more blobs than allowed."""

    def __init__(self, have: int, most: int) -> None:
        super().__init__(f"too many blobs: have {have}, want at most {most}")
        self.have = have
        self.most = most


class TransactionTooEarly(InvalidBlock):
    """A transaction has a format that a later fork introduced."""

    def __init__(self, index: int, form: str, fork: str) -> None:
        super().__init__(f"transaction {index}: {form} before {fork}")
        self.index = index


class WrongUncle(InvalidBlock):
    """The block has uncles that it may not have."""


class TooManyUncles(WrongUncle):
    """The block has more than two uncles."""

    def __init__(self, have: int, most: int) -> None:
        super().__init__(f"too many uncles: have {have}, want at most {most}")
        self.have = have
        self.most = most


class UncleTwice(WrongUncle):
    """An uncle is an ancestor of the block, or was already included by the block or by an ancestor."""

    def __init__(self, uncle: Hash) -> None:
        super().__init__(f"uncle {encode_data(uncle)} is an ancestor, or there already")
        self.uncle = uncle


class UncleOfStrangers(WrongUncle):
    """The parent of an uncle is not a recent ancestor, or it is the block's own parent."""

    def __init__(self, uncle: Hash, parent: Hash) -> None:
        super().__init__(
            f"uncle {encode_data(uncle)}: its parent {encode_data(parent)} is none of the ancestors "
            "that it may have"
        )
        self.uncle = uncle
        self.parent = parent


class ChainFileError(Exception):
    """A file that cannot be imported."""


class BrokenFile(ChainFileError):
    """Bytes that are not the RLP of one block after another."""

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(f"at byte {position}: {reason}")
        self.position = position


class BlockDiffers(ChainFileError):
    """The chain has another block at this height."""

    def __init__(self, number: int, have: Hash, want: Hash) -> None:
        super().__init__(
            f"block {number} is another one than the chain has: have {encode_data(have)}, "
            f"want {encode_data(want)}"
        )
        self.number = number
        self.have = have
        self.want = want
