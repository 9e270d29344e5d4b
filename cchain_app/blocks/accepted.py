"""An accepted block as a value: header, transactions and receipts together."""

from dataclasses import dataclass

from cchain_app.blocks.block import block_size
from cchain_app.blocks.header import Header
from cchain_app.blocks.receipt import Receipt
from cchain_app.txs.transaction import Transaction
from primitives.evm import Hash


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
    return AcceptedBlock(
        header=header,
        hash=header.hash,
        size=block_size(header, [transaction.raw for transaction in transactions]),
        transactions=transactions,
        receipts=receipts,
    )
