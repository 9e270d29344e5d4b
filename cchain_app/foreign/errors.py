"""Why a block that others made, or a file of them, is refused, besides what `blocks.errors` has.

InvalidBlock (`blocks.errors`)
├── GasLimitOutOfBounds     further from the parent's than one block may move it
├── GasUsedAboveLimit
├── BlockAboveLimit         more bytes than a block may have (EIP-7934)
├── TooManyBlobs            more than the schedule allows in a block
├── TransactionTooEarly     of a form that began with a later fork
└── WrongUncle
    ├── TooManyUncles
    ├── UncleTwice          an ancestor, or there already
    └── UncleOfStrangers    its parent is no recent ancestor
ChainFileError
├── BrokenFile              no RLP of blocks
└── BlockDiffers            another block than the chain has at that height
"""

from cchain_app.blocks.errors import InvalidBlock
from primitives.evm import Hash
from primitives.hexadecimal import encode_data


class GasLimitOutOfBounds(InvalidBlock):
    """A gas limit further from the parent's than one block may move it, or below the least."""

    def __init__(self, have: int, lowest: int, highest: int) -> None:
        super().__init__(f"invalid gasLimit: have {have}, want {lowest} to {highest}")
        self.have = have
        self.lowest = lowest
        self.highest = highest


class GasUsedAboveLimit(InvalidBlock):
    """More gas than the block's limit."""

    def __init__(self, have: int, limit: int) -> None:
        super().__init__(f"invalid gasUsed: have {have}, want at most the gasLimit {limit}")
        self.have = have
        self.limit = limit


class BlockAboveLimit(InvalidBlock):
    """More bytes than a block may have since Osaka."""

    def __init__(self, have: int, most: int) -> None:
        super().__init__(
            f"block RLP-encoded size exceeds maximum: have {have}, want at most {most}"
        )
        self.have = have
        self.most = most


class TooManyBlobs(InvalidBlock):
    """More blobs than fit into a block."""

    def __init__(self, have: int, most: int) -> None:
        super().__init__(f"too many blobs: have {have}, want at most {most}")
        self.have = have
        self.most = most


class TransactionTooEarly(InvalidBlock):
    """A transaction of a form that began with a later fork."""

    def __init__(self, index: int, form: str, fork: str) -> None:
        super().__init__(f"transaction {index}: {form} before {fork}")
        self.index = index


class WrongUncle(InvalidBlock):
    """Uncles that the block cannot have."""


class TooManyUncles(WrongUncle):
    """More than two."""

    def __init__(self, have: int, most: int) -> None:
        super().__init__(f"too many uncles: have {have}, want at most {most}")
        self.have = have
        self.most = most


class UncleTwice(WrongUncle):
    """An ancestor of the block, or an uncle that it or an ancestor has already."""

    def __init__(self, uncle: Hash) -> None:
        super().__init__(f"uncle {encode_data(uncle)} is an ancestor, or there already")
        self.uncle = uncle


class UncleOfStrangers(WrongUncle):
    """An uncle whose parent is no recent ancestor, or the block's own parent."""

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
    """Another block than the chain has at this height."""

    def __init__(self, number: int, have: Hash, want: Hash) -> None:
        super().__init__(
            f"block {number} is another one than the chain has: have {encode_data(have)}, "
            f"want {encode_data(want)}"
        )
        self.number = number
        self.have = have
        self.want = want
