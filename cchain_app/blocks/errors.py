"""Why a block that somebody else made is refused: one class for each reason.

InvalidBlock (`evm.engine`)
├── MalformedBlock                  bytes that are no block
│   ├── BlockTooLarge
│   ├── BlockEncoding               not the canonical RLP of a block ("rlp: …")
│   ├── TransactionTooShort, TooManyTransactions    found before any transaction is read
│   ├── UnclesNotEmpty, WithdrawalsNotEmpty
│   └── WithdrawalsMissing, WithdrawalsUnexpected   body and header are of different forks
├── WrongPlace                      where it stands in the chain
│   ├── UnknownParent
│   └── BlockBeforeParent, BlockInFuture
├── WrongField                      not what the parent, the rules or the body make it
│   ├── WrongNumber, WrongGasLimit, WrongBaseFee, WrongCoinbase, WrongDifficulty, WrongMixHash,
│   │   WrongNonce, WrongUnclesHash, WrongWithdrawalsRoot, WrongExcessBlobGas, WrongBeaconRoot
│   ├── WrongTransactionsRoot
│   ├── WrongGasUsed, WrongBlobGasUsed, WrongStateRoot, WrongReceiptsRoot, WrongBloom,
│   │   WrongRequestsHash
│   └── WrongHash
├── ExtraDataTooLong
├── TransactionRefused              no transaction of this chain; the cause says why
└── ExecutionRefused                the engine cannot execute it; the cause says why
"""

from typing import ClassVar

from cchain_app.evm import engine
from primitives.evm import Hash
from primitives.hexadecimal import encode_data

InvalidBlock = engine.InvalidBlock
"""The root; it stands below this room, since engines raise it."""

_SHOWN = 32


class MalformedBlock(InvalidBlock):
    """Bytes that are no block."""


class BlockTooLarge(MalformedBlock):
    """More bytes than a message between nodes can have."""

    def __init__(self, size: int, most: int) -> None:
        super().__init__(f"block too large: {size} bytes, at most {most}")
        self.size = size
        self.most = most


class BlockEncoding(MalformedBlock):
    """Not the canonical RLP of a block; the cause says where."""


class TransactionTooShort(MalformedBlock):
    """Fewer bytes than any transaction has."""

    def __init__(self, index: int, size: int) -> None:
        super().__init__(f"transaction {index} has {size} bytes, which none has")
        self.index = index
        self.size = size


class TooManyTransactions(MalformedBlock):
    """More transactions than there is gas for in the block."""

    def __init__(self, most: int) -> None:
        super().__init__(f"more than {most} transactions, for which there is no gas in the block")
        self.most = most


class UnclesNotEmpty(MalformedBlock):
    """Uncles: nobody mines here."""

    def __init__(self) -> None:
        super().__init__("uncles not allowed")


class WithdrawalsNotEmpty(MalformedBlock):
    """Withdrawals: there is no beacon chain that they could come from."""

    def __init__(self) -> None:
        super().__init__("withdrawals not allowed")


class WithdrawalsMissing(MalformedBlock):
    """The header has a root of withdrawals, the body no list of them."""

    def __init__(self) -> None:
        super().__init__("missing withdrawals in block body")


class WithdrawalsUnexpected(MalformedBlock):
    """The body has a list of withdrawals, the header no root of them."""

    def __init__(self) -> None:
        super().__init__("withdrawals present in block body")


class WrongPlace(InvalidBlock):
    """A block that does not belong where it stands."""


class UnknownParent(WrongPlace):
    """A block that does not follow the head."""

    def __init__(self, parent: Hash, head: Hash) -> None:
        super().__init__(f"unknown parent {encode_data(parent)}: the head is {encode_data(head)}")
        self.parent = parent
        self.head = head


class BlockBeforeParent(WrongPlace):
    """Older than its parent."""

    def __init__(self, time: int, parent: int) -> None:
        super().__init__(f"timestamp {time} older than parent's {parent}")
        self.time = time
        self.parent = parent


class BlockInFuture(WrongPlace):
    """Further ahead of this node's clock than clocks may differ."""

    def __init__(self, time: int, latest: int) -> None:
        super().__init__(f"block in the future: timestamp {time}, at most {latest} now")
        self.time = time
        self.latest = latest


class ExtraDataTooLong(InvalidBlock):
    """More than 32 bytes of extra data."""

    def __init__(self, size: int, most: int) -> None:
        super().__init__(f"extra-data too long: {size} > {most}")
        self.size = size
        self.most = most


class TransactionRefused(InvalidBlock):
    """Something in the block is no transaction that this chain could include; the cause says why."""

    def __init__(self, index: int, reason: Exception) -> None:
        super().__init__(f"transaction {index}: {reason}")
        self.index = index
        self.__cause__ = reason


class ExecutionRefused(InvalidBlock):
    """A transaction cannot run where it stands, or a system call fails; the cause says why."""


class WrongField(InvalidBlock):
    """A field of the header is another one than it must be."""

    field: ClassVar[str]
    """Its name as clients see it."""

    def __init__(self, have: int | bytes | None, want: int | bytes | None) -> None:
        super().__init__(f"invalid {self.field}: have {_text(have)}, want {_text(want)}")
        self.have = have
        self.want = want


class WrongNumber(WrongField):
    """Not one more than the parent's."""

    field = "number"


class WrongGasLimit(WrongField):
    """Not the parent's, moved towards the network's."""

    field = "gasLimit"


class WrongBaseFee(WrongField):
    """Not what the parent's gas makes it, or there before London."""

    field = "baseFeePerGas"


class WrongCoinbase(WrongField):
    """Not the address that all tips of this chain go to."""

    field = "miner"


class WrongDifficulty(WrongField):
    """Not zero, though there is no proof of work."""

    field = "difficulty"


class WrongMixHash(WrongField):
    """Not zero: there is no beacon chain's randomness."""

    field = "mixHash"


class WrongNonce(WrongField):
    """Not zero, though there is no proof of work."""

    field = "nonce"


class WrongUnclesHash(WrongField):
    """Not the hash of the body's uncles, of which this node's own blocks have none."""

    field = "sha3Uncles"


class WrongWithdrawalsRoot(WrongField):
    """Not the root of the body's withdrawals, or there before Shanghai."""

    field = "withdrawalsRoot"


class WrongExcessBlobGas(WrongField):
    """Not what the parent's makes it, or there before Cancun."""

    field = "excessBlobGas"


class WrongBeaconRoot(WrongField):
    """Not what it must be, or not there since Cancun."""

    field = "parentBeaconBlockRoot"


class WrongTransactionsRoot(WrongField):
    """Not the root of the body's transactions."""

    field = "transactionsRoot"


class WrongGasUsed(WrongField):
    """Not what the transactions use."""

    field = "gasUsed"


class WrongBlobGasUsed(WrongField):
    """Not what the body's blobs use, or there before Cancun."""

    field = "blobGasUsed"


class WrongStateRoot(WrongField):
    """Not the root of the state after the block."""

    field = "stateRoot"


class WrongReceiptsRoot(WrongField):
    """Not the root of the transactions' receipts."""

    field = "receiptsRoot"


class WrongBloom(WrongField):
    """Not the bloom of the transactions' logs."""

    field = "logsBloom"


class WrongRequestsHash(WrongField):
    """Not the hash of the requests that the block makes, or there before Prague."""

    field = "requestsHash"


class WrongHash(WrongField):
    """Not the hash of the header that executing the block makes."""

    field = "hash"


def _text(value: int | bytes | None) -> str:
    if value is None:
        return "none"
    if isinstance(value, int):
        return str(value)
    return encode_data(value) if len(value) <= _SHOWN else f"{encode_data(value[:_SHOWN])}…"
