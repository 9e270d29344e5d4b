"""Encode transactions: the signed content, and the signed envelope. Decoding is in `codec`.

Used for the accounts of a development chain and in tests; a node never signs for other accounts.

A development chain accepts unsigned transactions of impersonated accounts. In place of a signature, r and s contain
the sender's address. So transactions of two senders differ in bytes and hash, every decoder accepts the bytes, and a
sender stored with them can be checked against them. Recovery from such a signature gives another account or fails, so
code that accepts signed transactions must refuse these (`names_sender`). devnet.md 4.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from cchain_app.txs.codec import DecodedTransaction, RecoverMany, decode_unsigned, with_sender
from cchain_app.txs.transaction import (
    ACCESS_LIST,
    BLOB,
    LEGACY,
    SET_CODE,
    AccessList,
    Authorization,
    Transaction,
)
from primitives import rlp, secp256k1
from primitives.evm import Address, Hash
from primitives.hashing import keccak256
from primitives.secp256k1 import Signature, SignedDigest

_MAGIC = b"\x05"


def authorization_digest(chain_id: int, address: Address, nonce: int) -> Hash:
    """Return the hash that an authority signs."""
    fields = (rlp.encode_uint(chain_id), rlp.encode_bytes(address), rlp.encode_uint(nonce))
    return keccak256(_MAGIC + rlp.encode_list(fields))


def authorities_of(
    transactions: Sequence[Transaction], recover: RecoverMany
) -> list[tuple[Address, ...]]:
    """Return each transaction's distinct authorities, all recovered in one call.

    Unspecified: as in go-ethereum only the signature must be valid. An authorization for
    another chain, or with a nonce that cannot be next, has an authority too.
    """
    signatures = [_signatures(transaction.authorizations) for transaction in transactions]
    together = list(chain.from_iterable(signatures))
    recovered = iter(recover(together) if together else ())
    return [_each_once(islice(recovered, len(those))) for those in signatures]


def _signatures(authorizations: Sequence[Authorization]) -> list[SignedDigest]:
    """Return the authorizations whose values are in range, as recovery requires."""
    return [
        SignedDigest(authorization_digest(chain_id, address, nonce), r, s, y_parity)
        for chain_id, address, nonce, y_parity, r, s in authorizations
        if secp256k1.is_valid(r, s, y_parity)
    ]


def _each_once(recovered: Iterable[Address | None]) -> tuple[Address, ...]:
    return tuple(dict.fromkeys(address for address in recovered if address is not None))


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


_ADDRESS_BITS = 160


def impersonate(transaction: UnsignedTransaction, sender: Address) -> Transaction:
    """Return an unsigned transaction of an impersonated sender.

    Unspecified: v has the type's form for parity 0, for type 0 with the chain's ID (EIP-155).
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
