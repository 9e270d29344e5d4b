"""An accepted block as a value: its header, transactions and receipts, and the whole block as RLP."""

from collections.abc import Sequence
from dataclasses import dataclass

from cchain_app.blocks.body import EMPTY_LIST, Withdrawal, encode_ommers, encode_withdrawals
from cchain_app.blocks.header import Header, encode_header
from cchain_app.blocks.receipt import Receipt
from cchain_app.txs.transaction import Transaction
from primitives import rlp
from primitives.evm import Hash
from primitives.hashing import keccak256

_LEGACY_PREFIX = b"\xc0"


def encode_block(
    header: Header,
    transactions: Sequence[bytes],
    ommers: Sequence[Header] = (),
    withdrawals: Sequence[Withdrawal] = (),
) -> bytes:
    """Return the block with the given header, signed envelopes, uncles and withdrawals as RLP."""
    return join_block(
        encode_header(header),
        transactions,
        ommers=encode_ommers(ommers),
        withdrawals=None if header.withdrawals_root is None else encode_withdrawals(withdrawals),
    )


def join_block(
    header: bytes,
    transactions: Sequence[bytes],
    *,
    ommers: bytes = EMPTY_LIST,
    withdrawals: bytes | None,
) -> bytes:
    """Return a block whose parts are RLP already; since Shanghai it has withdrawals, even if there are none."""
    body = [header, rlp.encode_list(map(_encode_transaction, transactions)), ommers]
    if withdrawals is not None:
        body.append(withdrawals)
    return rlp.encode_list(body)


def _encode_transaction(raw: bytes) -> bytes:
    """Return a legacy transaction, which is a list already, unchanged; wrap the envelope of a typed one."""
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
    """One for each transaction, in the same order."""
    ommers: tuple[Header, ...] = ()
    """Uncles; always empty in blocks of this node, but not in imported blocks of other chains."""
    withdrawals: tuple[Withdrawal, ...] = ()
    """Withdrawals; likewise."""

    @property
    def number(self) -> int:
        """Its height."""
        return self.header.number

    @property
    def raw(self) -> bytes:
        """The whole block as RLP, encoded each time."""
        envelopes = [transaction.raw for transaction in self.transactions]
        return encode_block(self.header, envelopes, self.ommers, self.withdrawals)


def make_block(
    header: Header,
    transactions: tuple[Transaction, ...],
    receipts: tuple[Receipt, ...],
    ommers: tuple[Header, ...] = (),
    withdrawals: tuple[Withdrawal, ...] = (),
) -> AcceptedBlock:
    """Return a block with its hash and size."""
    envelopes = [transaction.raw for transaction in transactions]
    encoded = encode_header(header)
    whole = join_block(
        encoded,
        envelopes,
        ommers=encode_ommers(ommers),
        withdrawals=None if header.withdrawals_root is None else encode_withdrawals(withdrawals),
    )
    return AcceptedBlock(
        header, keccak256(encoded), len(whole), transactions, receipts, ommers, withdrawals
    )
