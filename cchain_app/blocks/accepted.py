"""An accepted block as a value: header, transactions and receipts together."""

from dataclasses import dataclass

from cchain_app.blocks.block import join_block
from cchain_app.blocks.header import Header, encode_header
from cchain_app.blocks.receipt import Receipt
from cchain_app.txs.transaction import Transaction
from primitives.evm import Hash
from primitives.hashing import keccak256


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
