"""Encode transactions: the signed content, and the signed envelope. Decoding is in `codec`.

Used for the accounts of a development chain and in tests; a node never signs for other accounts.
"""

from dataclasses import dataclass

from cchain_app.txs.authorities import authorization_digest
from cchain_app.txs.transaction import (
    ACCESS_LIST,
    BLOB,
    LEGACY,
    SET_CODE,
    AccessList,
    Authorization,
)
from primitives import rlp, secp256k1
from primitives.evm import Address, Hash
from primitives.hashing import keccak256


@dataclass(frozen=True, slots=True)
class UnsignedTransaction:
    """A transaction before signing. For type 3 it is the transaction without its blobs."""

    type: int
    chain_id: int | None
    """None only for a legacy transaction without replay protection."""
    nonce: int
    gas: int
    to: Address | None
    value: int
    """Wei."""
    max_fee_per_gas: int
    """Wei; the gas price for types 0 and 1."""
    max_priority_fee_per_gas: int = 0
    """Wei; unused for types 0 and 1."""
    data: bytes = b""
    access_list: AccessList = ()
    authorizations: tuple[Authorization, ...] = ()
    max_fee_per_blob_gas: int = 0
    """Wei; only for type 3, like the next field."""
    blob_hashes: tuple[Hash, ...] = ()


def sign_transaction(transaction: UnsignedTransaction, private_key: bytes) -> bytes:
    """Return the signed envelope, ready to be sent.

    Raises:
        InvalidPrivateKey: The key is invalid.
    """
    return encode_signed(transaction, secp256k1.sign(signing_digest(transaction), private_key))


def encode_signed(transaction: UnsignedTransaction, signature: secp256k1.Signature) -> bytes:
    """Return the envelope with a signature, whatever key made it."""
    tail = map(rlp.encode_uint, (_v(transaction, signature.y_parity), signature.r, signature.s))
    return _envelope(transaction, [*_fields(transaction), *tail])


def encode_unsigned(transaction: UnsignedTransaction) -> bytes:
    """Return the envelope with zeros instead of the signature, as simulations use it."""
    return _envelope(transaction, [*_fields(transaction), *[rlp.encode_uint(0)] * 3])


def signing_digest(transaction: UnsignedTransaction) -> Hash:
    """Return the hash that the sender signs."""
    fields = _fields(transaction)
    if transaction.type == LEGACY and transaction.chain_id is not None:
        # EIP-155: the chain ID and two empty fields take the place of the signature
        fields += [rlp.encode_uint(transaction.chain_id), b"\x80", b"\x80"]
    return keccak256(_envelope(transaction, fields))


def sign_authorization(
    chain_id: int, address: Address, nonce: int, private_key: bytes
) -> Authorization:
    """Return the EIP-7702 authorization for the code at an address; chain ID 0 means every chain.

    Raises:
        InvalidPrivateKey: The key is invalid.
    """
    signature = secp256k1.sign(authorization_digest(chain_id, address, nonce), private_key)
    return Authorization(chain_id, address, nonce, signature.y_parity, signature.r, signature.s)


def encode_authorization(authorization: Authorization) -> bytes:
    """Return an entry of the authorization list as RLP."""
    return rlp.encode_list(
        (
            rlp.encode_uint(authorization.chain_id),
            rlp.encode_bytes(authorization.address),
            *map(rlp.encode_uint, authorization[2:]),
        )
    )


def _v(transaction: UnsignedTransaction, y_parity: int) -> int:
    if transaction.type != LEGACY:
        return y_parity
    if transaction.chain_id is None:
        return 27 + y_parity
    return 35 + 2 * transaction.chain_id + y_parity


def _envelope(transaction: UnsignedTransaction, fields: list[bytes]) -> bytes:
    type_byte = b"" if transaction.type == LEGACY else bytes((transaction.type,))
    return type_byte + rlp.encode_list(fields)


def _fields(transaction: UnsignedTransaction) -> list[bytes]:
    """Return the encodings of all fields before the signature."""
    fields = [rlp.encode_uint(transaction.nonce)]
    if transaction.type != LEGACY:
        fields.insert(0, rlp.encode_uint(transaction.chain_id or 0))
    if transaction.type > ACCESS_LIST:
        fields.append(rlp.encode_uint(transaction.max_priority_fee_per_gas))
    fields += [
        rlp.encode_uint(transaction.max_fee_per_gas),
        rlp.encode_uint(transaction.gas),
        rlp.encode_bytes(transaction.to or b""),
        rlp.encode_uint(transaction.value),
        rlp.encode_bytes(transaction.data),
    ]
    if transaction.type != LEGACY:
        fields.append(_encode_access_list(transaction.access_list))
    if transaction.type == BLOB:
        fields.append(rlp.encode_uint(transaction.max_fee_per_blob_gas))
        fields.append(rlp.encode_list(map(rlp.encode_bytes, transaction.blob_hashes)))
    if transaction.type == SET_CODE:
        fields.append(rlp.encode_list(map(encode_authorization, transaction.authorizations)))
    return fields


def _encode_access_list(access_list: AccessList) -> bytes:
    return rlp.encode_list(
        rlp.encode_list((rlp.encode_bytes(address), rlp.encode_list(map(rlp.encode_bytes, slots))))
        for address, slots in access_list
    )
