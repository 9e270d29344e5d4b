"""Why bytes are no transaction of this chain, in go-ethereum's words.

What the pool refuses besides has its own tree in `pool.errors`.

InvalidTransaction
├── TypedTransactionTooShort     nothing, or a type byte alone
├── TransactionTypeNotSupported  a type byte that means nothing
├── BlobTransactionRefused       type 3, which this chain does not carry
├── MalformedTransaction         not the canonical RLP of its type ("rlp: …")
└── InvalidSender
    ├── WrongChainId             signed for another chain
    ├── InvalidSignatureValues   v, r or s outside their ranges
    └── SenderNotRecoverable     no public key belongs to the signature
"""


class InvalidTransaction(Exception):
    """Bytes that are no transaction that this chain could ever include."""


class TypedTransactionTooShort(InvalidTransaction):
    """An envelope without content."""

    def __init__(self) -> None:
        super().__init__("typed transaction too short")


class TransactionTypeNotSupported(InvalidTransaction):
    """A type byte that no rule knows."""

    def __init__(self) -> None:
        super().__init__("transaction type not supported")


class BlobTransactionRefused(InvalidTransaction):
    """A blob transaction: Ethereum's own, but there are no blobs here."""

    def __init__(self) -> None:
        super().__init__("transaction type not supported: tx type 3 not supported by this pool")


class MalformedTransaction(InvalidTransaction):
    """Bytes that are not the canonical RLP of their type; the cause is the `RlpError`."""


class InvalidSender(InvalidTransaction):
    """A transaction that nobody on this chain has signed."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"invalid sender: {reason}")


class WrongChainId(InvalidSender):
    """Signed for another chain."""

    def __init__(self, have: int, want: int) -> None:
        super().__init__(f"invalid chain id for signer: have {have} want {want}")
        self.have = have
        self.want = want


class InvalidSignatureValues(InvalidSender):
    """Values that no signature has; s above half the order included."""

    def __init__(self) -> None:
        super().__init__("invalid transaction v, r, s values")


class SenderNotRecoverable(InvalidSender):
    """Values in their ranges that belong to no public key."""

    def __init__(self) -> None:
        super().__init__("recovery failed")
