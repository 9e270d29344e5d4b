"""Reasons why bytes are not a transaction of this chain, with go-ethereum's messages.

The pool has further reasons to refuse a transaction, which are in `pool.errors`.

InvalidTransaction
├── TypedTransactionTooShort     empty, or only a type byte
├── TransactionTypeNotSupported  an unknown type byte
├── BlobTransactionRefused       type 3, which this chain does not support
├── MalformedTransaction         not the canonical RLP of its type ("rlp: …")
└── InvalidSender
    ├── WrongChainId             signed for another chain
    ├── InvalidSignatureValues   v, r or s outside their ranges
    └── SenderNotRecoverable     no public key belongs to the signature
"""


class InvalidTransaction(Exception):
    """Bytes that can never be a transaction of this chain."""


class TypedTransactionTooShort(InvalidTransaction):
    """An envelope without content."""

    def __init__(self) -> None:
        super().__init__("typed transaction too short")


class TransactionTypeNotSupported(InvalidTransaction):
    """An unknown type byte."""

    def __init__(self) -> None:
        super().__init__("transaction type not supported")


class BlobTransactionRefused(InvalidTransaction):
    """A blob transaction, which is valid on Ethereum, but not here."""

    def __init__(self) -> None:
        super().__init__("transaction type not supported: tx type 3 not supported by this pool")


class MalformedTransaction(InvalidTransaction):
    """Bytes that are not the canonical RLP of their type; the cause is the `RlpError`."""


class InvalidSender(InvalidTransaction):
    """A transaction without a valid signature for this chain."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"invalid sender: {reason}")


class WrongChainId(InvalidSender):
    """The transaction is signed for another chain."""

    def __init__(self, have: int, want: int) -> None:
        super().__init__(f"invalid chain id for signer: have {have} want {want}")
        self.have = have
        self.want = want


class InvalidSignatureValues(InvalidSender):
    """Values out of range for a signature; this includes s above half the order."""

    def __init__(self) -> None:
        super().__init__("invalid transaction v, r, s values")


class SenderNotRecoverable(InvalidSender):
    """Values within their ranges for which there is no public key."""

    def __init__(self) -> None:
        super().__init__("recovery failed")
