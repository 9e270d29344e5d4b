"""Decode signed transactions: the types of EIP-2718, canonical RLP only.

Decoding has two steps, since recovering a sender costs more than everything else: `decode_unsigned`
reads the fields and the digest that was signed, `with_sender` adds the recovered sender. A `RecoverMany`
recovers many senders in one call; `decode_transaction` does all steps for one transaction. Encoding is in `signing`.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from cchain_app.txs.layout import LAYOUTS, FieldError, read_struct
from cchain_app.txs.transaction import (
    ACCESS_LIST,
    BLOB,
    DYNAMIC_FEE,
    LEGACY,
    SET_CODE,
    AccessList,
    Authorization,
    InvalidTransaction,
    Transaction,
    TransactionReason,
)
from primitives import rlp, secp256k1
from primitives.evm import Address, Hash
from primitives.hashing import keccak256
from primitives.secp256k1 import SignedDigest

RecoverMany = Callable[[Sequence[SignedDigest]], Sequence[Address | None]]
"""Recovers the senders of many signatures in one call; None for an invalid signature."""

_TYPED = frozenset({ACCESS_LIST, DYNAMIC_FEE, BLOB, SET_CODE})

_UNPROTECTED = frozenset({0, 1, 27, 28})
"""Values of v in a legacy transaction without a chain ID; 0 and 1 are never valid."""

_POSITIONED = frozenset(
    {
        rlp.RlpReason.EXPECTED_LIST,
        rlp.RlpReason.EXPECTED_STRING,
        rlp.RlpReason.NON_CANONICAL_SIZE,
        rlp.RlpReason.NON_CANONICAL_INTEGER,
        rlp.RlpReason.INPUT_TOO_LONG,
        rlp.RlpReason.INPUT_TOO_SHORT,
        rlp.RlpReason.TOO_FEW_ELEMENTS,
        rlp.RlpReason.TOO_MANY_ELEMENTS,
    }
)
"""The reasons to whose messages go-ethereum adds type and field; the other messages are used unchanged."""


class DecodedTransaction(NamedTuple):
    """A transaction whose fields were decoded, but whose signature was not checked yet."""

    type: int
    hash: Hash
    raw: bytes
    chain_id: int | None
    """None for a legacy transaction without replay protection."""
    nonce: int
    gas: int
    to: Address | None
    value: int
    data: bytes
    max_fee_per_gas: int
    max_priority_fee_per_gas: int
    access_list: AccessList
    authorizations: tuple[Authorization, ...]
    v: int
    r: int
    s: int
    digest: Hash
    """The hash that the sender signed."""
    max_fee_per_blob_gas: int = 0
    blob_hashes: tuple[Hash, ...] = ()

    @property
    def y_parity(self) -> int:
        """The parity that v encodes; outside 0 and 1 if v is invalid."""
        if self.type != LEGACY:
            return self.v
        return self.v - 27 if self.chain_id is None else (self.v - 35) % 2


def decode_transaction(raw: bytes, chain_id: int) -> Transaction:
    """Decode a signed transaction for the chain and recover its sender.

    Raises:
        InvalidTransaction: As `decode_unsigned`, `check_signature` and `recover_sender` do.
    """
    decoded = decode_unsigned(raw)
    check_signature(decoded, chain_id)
    return with_sender(decoded, recover_sender(decoded))


def decode_unsigned(raw: bytes) -> DecodedTransaction:
    """Decode the fields of a signed transaction without checking the signature.

    Unspecified: integers above 256 bits, which go-ethereum decodes and refuses later by their
    meaning, are refused here with its message for 256-bit fields.

    Args:
        raw: The envelope; of type 3 without its sidecar (`blobs.separate`).

    Raises:
        InvalidTransaction: The envelope is empty, has nothing after the type, has an unknown type, or is not the canonical
            RLP of its type.
    """
    if raw and raw[0] > 0x7F:
        return _decode_legacy(raw)
    if len(raw) <= 1:
        raise InvalidTransaction(TransactionReason.TOO_SHORT)
    if raw[0] not in _TYPED:
        raise InvalidTransaction(TransactionReason.TYPE_NOT_SUPPORTED)
    return _decode_typed(raw)


def check_signature(decoded: DecodedTransaction, chain_id: int) -> None:
    """Check that a transaction is for this chain and that the values of its signature are in range.

    Unspecified: as in go-ethereum a legacy transaction with v 27 or 28 is for every chain, and
    any other v names one, by (v - 35) / 2 in 64-bit arithmetic.

    Raises:
        InvalidTransaction: It is for another chain, or v, r or s is outside its range.
    """
    if decoded.chain_id is not None and decoded.chain_id != chain_id:
        raise InvalidTransaction(
            TransactionReason.WRONG_CHAIN_ID, have=decoded.chain_id, want=chain_id
        )
    if not secp256k1.is_valid(decoded.r, decoded.s, decoded.y_parity):
        raise InvalidTransaction(TransactionReason.SIGNATURE_VALUES)


def recover_sender(decoded: DecodedTransaction) -> Address:
    """Return the signer of a transaction that passed `check_signature`.

    Raises:
        InvalidTransaction: No key can have made the signature.
    """
    try:
        return secp256k1.recover(*signed_digest(decoded))
    except secp256k1.SignatureError as error:
        raise InvalidTransaction(TransactionReason.SENDER_NOT_RECOVERABLE) from error


def signed_digest(decoded: DecodedTransaction) -> SignedDigest:
    """Return the signature and digest of a transaction for a batch recovery."""
    return SignedDigest(decoded.digest, decoded.r, decoded.s, decoded.y_parity)


def with_sender(decoded: DecodedTransaction, sender: Address) -> Transaction:
    """Return the transaction with a sender that was recovered, or that its row contains."""
    return Transaction(
        decoded.type,
        decoded.hash,
        decoded.raw,
        sender,
        decoded.chain_id,
        decoded.nonce,
        decoded.gas,
        decoded.to,
        decoded.value,
        decoded.data,
        decoded.max_fee_per_gas,
        decoded.max_priority_fee_per_gas,
        decoded.access_list,
        decoded.authorizations,
        decoded.v,
        decoded.r,
        decoded.s,
        decoded.max_fee_per_blob_gas,
        decoded.blob_hashes,
    )


def decode_stored(raw: bytes, tx_hash: Hash, sender: Address) -> Transaction:
    """Return an accepted transaction from its row, which has its hash and its sender.

    It is several times as fast as `decode_unsigned`: nothing is hashed, and the fields of valid envelopes are not checked
    again.

    Args:
        raw: The envelope of a transaction that `decode_unsigned` accepted.
        tx_hash: Its hash.
        sender: Its sender.
    """
    type_ = LEGACY if raw[0] > 0x7F else raw[0]
    layout = LAYOUTS[type_].fields
    body = rlp.read_only_item(raw, 0 if type_ == LEGACY else 1)
    items = rlp.split(body, len(layout))
    access_list: AccessList = ()
    authorizations: tuple[Authorization, ...] = ()
    blob_fee = 0
    blob_hashes: tuple[Hash, ...] = ()
    number = int.from_bytes
    v, r, s = map(number, items[-3:])
    if type_ == LEGACY:
        nonce, tip, gas, to, value, data = items[:6]
        cap = tip
        chain_id = None if v in _UNPROTECTED else _chain_id_of(v)
    else:
        chain_id = number(items[0])
        # Type 1 has one price instead of tip and cap, and so one field less in front of the others.
        nonce, tip, cap = items[1], items[2], items[2 if type_ == ACCESS_LIST else 3]
        first = 3 if type_ == ACCESS_LIST else 4
        gas, to, value, data, accessed = items[first : first + 5]
        if accessed:
            access_list = layout[first + 4].read(accessed)
        if type_ == BLOB:
            blob_fee, blob_hashes = number(items[-5]), layout[-4].read(items[-4])
        elif type_ == SET_CODE:
            authorizations = layout[-4].read(items[-4])
    return Transaction(
        type_,
        tx_hash,
        raw,
        sender,
        chain_id,
        number(nonce),
        number(gas),
        Address(to) if to else None,
        number(value),
        data,
        number(cap),
        number(tip),
        access_list,
        authorizations,
        v,
        r,
        s,
        blob_fee,
        blob_hashes,
    )


def _decode_legacy(raw: bytes) -> DecodedTransaction:
    body, fields = _read(raw, LEGACY)
    nonce, price, gas, to, value, data, v, r, s = fields
    signed = _without_signature(body, v, r, s)
    chain_id = None if v in _UNPROTECTED else _chain_id_of(v)
    if chain_id is not None:
        # EIP-155: the signature covers the chain ID and two empty fields instead of the signature
        signed += rlp.encode_uint(chain_id) + b"\x80\x80"
    return DecodedTransaction(
        type=LEGACY,
        hash=keccak256(raw),
        raw=raw,
        chain_id=chain_id,
        nonce=nonce,
        gas=gas,
        to=to,
        value=value,
        data=data,
        max_fee_per_gas=price,
        max_priority_fee_per_gas=price,
        access_list=(),
        authorizations=(),
        v=v,
        r=r,
        s=s,
        digest=keccak256(rlp.list_prefix(len(signed)) + signed),
    )


def _chain_id_of(v: int) -> int:
    """Return the chain ID of a protected legacy transaction."""
    return (v - 35) // 2 if v >> 64 else ((v - 35) % 2**64) // 2


def _decode_typed(raw: bytes) -> DecodedTransaction:
    type_ = raw[0]
    body, fields = _read(raw, type_)
    *content, v, r, s = fields
    authorizations = content.pop() if type_ == SET_CODE else ()
    blob_hashes = content.pop() if type_ == BLOB else ()
    max_fee_per_blob_gas = content.pop() if type_ == BLOB else 0
    chain_id, nonce, *fees, gas, to, value, data, access_list = content
    signed = _without_signature(body, v, r, s)
    return DecodedTransaction(
        type=type_,
        hash=keccak256(raw),
        raw=raw,
        chain_id=chain_id,
        nonce=nonce,
        gas=gas,
        to=to,
        value=value,
        data=data,
        max_fee_per_gas=fees[-1],  # the tip comes before it; type 1 has one price for both
        max_priority_fee_per_gas=fees[0],
        access_list=access_list,
        authorizations=authorizations,
        v=v,
        r=r,
        s=s,
        digest=keccak256(raw[:1] + rlp.list_prefix(len(signed)) + signed),
        max_fee_per_blob_gas=max_fee_per_blob_gas,
        blob_hashes=blob_hashes,
    )


def _read(raw: bytes, type_: int) -> tuple[bytes, list[Any]]:
    """Return the payload of the transaction's list, and its fields."""
    layout = LAYOUTS[type_]
    try:
        body = rlp.read_only_item(raw, 0 if type_ == LEGACY else 1)
        return body, read_struct(body, layout)
    except FieldError as error:
        where = f", decoding into ({layout.type_name}){error.path}" if error.path else ""
        raise _malformed(error.cause, error.type_name, where) from error.cause
    except rlp.RlpError as error:
        raise _malformed(error, layout.type_name, "") from error


def _malformed(cause: rlp.RlpError, type_name: str, where: str) -> InvalidTransaction:
    context = f" for {type_name}{where}" if cause.reason in _POSITIONED else ""
    return InvalidTransaction(TransactionReason.MALFORMED, problem=f"{cause.reason}{context}")


def _without_signature(body: bytes, v: int, r: int, s: int) -> bytes:
    """Return the unchanged encoding of the fields before the signature: canonical RLP needs no re-encoding."""
    return bytes(body[: len(body) - _size(v) - _size(r) - _size(s)])


def _size(number: int) -> int:
    """Return the length of the encoding of an integer of at most 256 bits, in bytes."""
    return 1 if number < 0x80 else 1 + (number.bit_length() + 7) // 8
