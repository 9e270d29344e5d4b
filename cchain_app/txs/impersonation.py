"""Unsigned transactions, which a development chain accepts for impersonated accounts.

In place of a signature, r and s contain the sender's address. So transactions of two senders differ in
bytes and hash, every decoder accepts the bytes, and a sender stored with them can be checked against
them. Recovery from such a signature gives another account or fails, so code that accepts signed
transactions must refuse these (`names_sender`). devnet.md 4.
"""

from cchain_app.txs.codec import DecodedTransaction, decode_unsigned, with_sender
from cchain_app.txs.signing import UnsignedTransaction, encode_signed
from cchain_app.txs.transaction import Transaction
from primitives.evm import Address
from primitives.secp256k1 import Signature

_ADDRESS_BITS = 160


def impersonate(transaction: UnsignedTransaction, sender: Address) -> Transaction:
    """Return an unsigned transaction of an impersonated sender.

    Unspecified: v has the type's form for parity 0, for type 0 with the chain's ID (EIP-155).

    Raises:
        InvalidTransaction: It is of type 3.
    """
    name = int.from_bytes(sender)
    raw = encode_signed(transaction, Signature(r=name, s=name, y_parity=0))
    return with_sender(decode_unsigned(raw), sender)


def names_sender(decoded: DecodedTransaction) -> bool:
    """Return whether r and s both contain the same address in place of a signature."""
    return decoded.r == decoded.s and not decoded.r >> _ADDRESS_BITS


def named_sender(decoded: DecodedTransaction) -> Address:
    """Return the sender in a transaction for which `names_sender` holds."""
    return Address(decoded.r.to_bytes(20))
