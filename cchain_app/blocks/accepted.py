"""An accepted block as a value: header, transactions and receipts together; and a whole block as RLP."""

from collections.abc import Sequence
from dataclasses import dataclass

from cchain_app.blocks.header import Header, encode_header
from cchain_app.blocks.receipt import Receipt
from cchain_app.txs.transaction import Transaction
from primitives import rlp
from primitives.evm import Hash
from primitives.hashing import keccak256

_EMPTY_LIST = b"\xc0"
_LEGACY_PREFIX = b"\xc0"


def encode_block(header: Header, transactions: Sequence[bytes]) -> bytes:
    """Return the block with the given header and signed envelopes as RLP."""
    withdrawals = header.withdrawals_root is not None
    return join_block(encode_header(header), transactions, withdrawals=withdrawals)


def join_block(header: bytes, transactions: Sequence[bytes], *, withdrawals: bool) -> bytes:
    """Return the same of a header that is RLP already; since Shanghai it has withdrawals."""
    body = [header, rlp.encode_list(map(_encode_transaction, transactions)), _EMPTY_LIST]
    if withdrawals:
        body.append(_EMPTY_LIST)
    return rlp.encode_list(body)


def _encode_transaction(raw: bytes) -> bytes:
    """Return a legacy transaction, itself a list, as it is; wrap the envelope of a typed one."""
    return raw if raw[:1] >= _LEGACY_PREFIX else rlp.encode_bytes(raw)


@dataclass(frozen=True, slots=True)
class AcceptedBlock:
    """A block that is part of the chain; it never changes."""

    header: Header
    hash: Hash
    """Keccak-256 of the header's RLP."""
    size: int
    """Bytes of the whole block as RLP."""
    transactions: tuple[Transaction, ...]
    receipts: tuple[Receipt, ...]
    """One for each transaction, same order."""

    @property
    def number(self) -> int:
        """Its height."""
        return self.header.number


def make_block(
    header: Header, transactions: tuple[Transaction, ...], receipts: tuple[Receipt, ...]
) -> AcceptedBlock:
    """Return a block with its hash and size."""
    encoded = encode_header(header)
    envelopes = [transaction.raw for transaction in transactions]
    whole = join_block(encoded, envelopes, withdrawals=header.withdrawals_root is not None)
    return AcceptedBlock(header, keccak256(encoded), len(whole), transactions, receipts)
