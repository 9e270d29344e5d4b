"""Reasons to refuse a block from another node, one class for each reason.

InvalidBlock (`evm.engine`)
├── MalformedBlock                  bytes that are not a block
│   ├── BlockTooLarge
│   ├── BlockEncoding               not the canonical RLP of a block ("rlp: …")
│   ├── TransactionTooShort, TooManyTransactions    found before any transaction is read
│   ├── UnclesNotEmpty, WithdrawalsNotEmpty
│   └── WithdrawalsMissing, WithdrawalsUnexpected   body and header are of different forks
├── WrongPlace                      its place in the chain
│   ├── UnknownParent
│   └── BlockBeforeParent, BlockInFuture
├── WrongField                      a field that does not follow from the parent, the rules or the body
│   ├── WrongNumber, WrongGasLimit, WrongBaseFee, WrongCoinbase, WrongDifficulty, WrongMixHash,
│   │   WrongNonce, WrongUnclesHash, WrongWithdrawalsRoot, WrongExcessBlobGas, WrongBeaconRoot
│   ├── WrongTransactionsRoot
│   ├── WrongGasUsed, WrongBlobGasUsed, WrongStateRoot, WrongReceiptsRoot, WrongBloom,
│   │   WrongRequestsHash
│   └── WrongHash
├── ExtraDataTooLong
├── TransactionRefused              not a transaction of this chain; the cause says why
└── ExecutionRefused                the engine cannot execute it; the cause says why
"""

from typing import ClassVar

from cchain_app.evm import engine
from primitives.evm import Hash
from primitives.hexadecimal import encode_data

InvalidBlock = engine.ExecutionInvalid
"""The root class; it is defined with the engines' port, since engines raise it."""

_SHOWN = 32


class MalformedBlock(InvalidBlock):
    """The bytes are not a block."""


class BlockTooLarge(MalformedBlock):
    """The block has more bytes than a message between nodes can hold."""

    def __init__(self, size: int, most: int) -> None:
        super().__init__(f"block too large: {size} bytes, at most {most}")
        self.size = size
        self.most = most


class BlockEncoding(MalformedBlock):
    """The bytes are not the canonical RLP of a block; the cause says where."""


class TransactionTooShort(MalformedBlock):
    """A transaction has fewer bytes than the shortest possible one."""

    def __init__(self, index: int, size: int) -> None:
        super().__init__(f"transaction {index} has {size} bytes, which none has")
        self.index = index
        self.size = size


class TooManyTransactions(MalformedBlock):
    """The block has more transactions than its gas limit allows."""

    def __init__(self, most: int) -> None:
        super().__init__(f"more than {most} transactions, for which there is no gas in the block")
        self.most = most


class UnclesNotEmpty(MalformedBlock):
    """The block has uncles, but the chain has no proof of work."""

    def __init__(self) -> None:
        super().__init__("uncles not allowed")


class WithdrawalsNotEmpty(MalformedBlock):
    """The block has withdrawals, but there is no beacon chain to withdraw from."""

    def __init__(self) -> None:
        super().__init__("withdrawals not allowed")


class WithdrawalsMissing(MalformedBlock):
    """The header has a root of withdrawals, but the body has no list of them."""

    def __init__(self) -> None:
        super().__init__("missing withdrawals in block body")


class WithdrawalsUnexpected(MalformedBlock):
    """The body has a list of withdrawals, but the header has no root of them."""

    def __init__(self) -> None:
        super().__init__("withdrawals present in block body")


class WrongPlace(InvalidBlock):
    """A block that does not belong at its place in the chain."""


class UnknownParent(WrongPlace):
    """A block that does not follow the head."""

    def __init__(self, parent: Hash, head: Hash) -> None:
        super().__init__(f"unknown parent {encode_data(parent)}: the head is {encode_data(head)}")
        self.parent = parent
        self.head = head


class BlockBeforeParent(WrongPlace):
    """The block is older than its parent."""

    def __init__(self, time: int, parent: int) -> None:
        super().__init__(f"timestamp {time} older than parent's {parent}")
        self.time = time
        self.parent = parent


class BlockInFuture(WrongPlace):
    """The block is further ahead of this node's clock than clocks may differ."""

    def __init__(self, time: int, latest: int) -> None:
        super().__init__(f"block in the future: timestamp {time}, at most {latest} now")
        self.time = time
        self.latest = latest


class ExtraDataTooLong(InvalidBlock):
    """The header has more than 32 bytes of extra data."""

    def __init__(self, size: int, most: int) -> None:
        super().__init__(f"extra-data too long: {size} > {most}")
        self.size = size
        self.most = most


class TransactionRefused(InvalidBlock):
    """The block contains something that is not a valid transaction of this chain; the cause says why."""

    def __init__(self, index: int, reason: Exception) -> None:
        super().__init__(f"transaction {index}: {reason}")
        self.index = index
        self.__cause__ = reason


class ExecutionRefused(InvalidBlock):
    """A transaction cannot run at its place, or a system call fails; the cause says why."""


class WrongField(InvalidBlock):
    """A field of the header differs from its required value."""

    field: ClassVar[str]
    """Its name as clients see it."""

    def __init__(self, have: int | bytes | None, want: int | bytes | None) -> None:
        super().__init__(f"invalid {self.field}: have {_text(have)}, want {_text(want)}")
        self.have = have
        self.want = want


class WrongNumber(WrongField):
    """The number is not the parent's plus one."""

    field = "number"


class WrongGasLimit(WrongField):
    """The gas limit is not the parent's, moved towards the network's."""

    field = "gasLimit"


class WrongBaseFee(WrongField):
    """The base fee does not follow from the parent's gas, or is present before London."""

    field = "baseFeePerGas"


class WrongCoinbase(WrongField):
    """The coinbase is not the address that gets all tips of this chain."""

    field = "miner"


class WrongDifficulty(WrongField):
    """The difficulty is not zero, though there is no proof of work."""

    field = "difficulty"


class WrongMixHash(WrongField):
    """The mixHash is not the PREVRANDAO by the chain's rules: zero, or a fresh value with `freshPrevRandao`."""

    field = "mixHash"


class WrongNonce(WrongField):
    """The nonce is not zero, though there is no proof of work."""

    field = "nonce"


class WrongUnclesHash(WrongField):
    """The sha3Uncles is not the hash of the body's uncles; this node's own blocks have no uncles."""

    field = "sha3Uncles"


class WrongWithdrawalsRoot(WrongField):
    """The withdrawals root does not match the body's withdrawals, or is present before Shanghai."""

    field = "withdrawalsRoot"


class WrongExcessBlobGas(WrongField):
    """The excess blob gas does not follow from the parent's, or is present before Cancun."""

    field = "excessBlobGas"


class WrongBeaconRoot(WrongField):
    """The parent beacon block root has a wrong value, or is missing since Cancun."""

    field = "parentBeaconBlockRoot"


class WrongTransactionsRoot(WrongField):
    """The transactions root does not match the body's transactions."""

    field = "transactionsRoot"


class WrongGasUsed(WrongField):
    """The gas used differs from the gas that the transactions use."""

    field = "gasUsed"


class WrongBlobGasUsed(WrongField):
    """The blob gas used differs from that of the body's blobs, or is present before Cancun."""

    field = "blobGasUsed"


class WrongStateRoot(WrongField):
    """The state root is not that of the state after the block."""

    field = "stateRoot"


class WrongReceiptsRoot(WrongField):
    """The receipts root does not match the transactions' receipts."""

    field = "receiptsRoot"


class WrongBloom(WrongField):
    """The bloom does not match the transactions' logs."""

    field = "logsBloom"


class WrongRequestsHash(WrongField):
    """The requests hash does not match the block's requests, or is present before Prague."""

    field = "requestsHash"


class WrongHash(WrongField):
    """The hash is not that of the header that results from executing the block."""

    field = "hash"


def _text(value: int | bytes | None) -> str:
    if value is None:
        return "none"
    if isinstance(value, int):
        return str(value)
    return encode_data(value) if len(value) <= _SHOWN else f"{encode_data(value[:_SHOWN])}…"
