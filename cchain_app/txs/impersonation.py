"""Transactions that nobody signed: a development chain takes them for accounts without a key.

In place of a signature they have the sender's address, as r and as s. So those of two senders differ in
bytes and hash, the bytes are a transaction to every reader, and a sender that is stored beside them can be
held against them. Recovering one from such a signature gives somebody else, or nobody: who takes signed
transactions refuses these (`names_sender`). devnet.md 4.
"""

from cchain_app.txs.codec import DecodedTransaction, decode_unsigned, with_sender
from cchain_app.txs.signing import UnsignedTransaction, encode_signed
from cchain_app.txs.transaction import Transaction
from primitives.evm import Address
from primitives.secp256k1 import Signature

_ADDRESS_BITS = 160


def impersonate(transaction: UnsignedTransaction, sender: Address) -> Transaction:
    """Return a transaction of a sender that nobody signed.

    Unspecified: the type's own form of v says parity 0, of type 0 with the chain's ID (EIP-155).

    Raises:
        BlobTransactionRefused: It is of type 3.
    """
    name = int.from_bytes(sender)
    raw = encode_signed(transaction, Signature(r=name, s=name, y_parity=0))
    return with_sender(decode_unsigned(raw), sender)


def names_sender(decoded: DecodedTransaction) -> bool:
    """Say whether the place of the signature holds an address, twice."""
    return decoded.r == decoded.s and not decoded.r >> _ADDRESS_BITS


def named_sender(decoded: DecodedTransaction) -> Address:
    """Return the sender that a transaction names for which `names_sender` holds."""
    return Address(decoded.r.to_bytes(20))
